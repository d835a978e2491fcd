/**
 * Sections of the export for the operator's content: tiers, the shop, the blog, positions, applications,
 * reserved names. Each section is in the order of its key. Used by records.ts, which sets the order of all
 * sections.
 */
import type { OfferKind } from '../import/offers-schema.ts';
import type { Queryable } from '../sql/client.ts';
import { dropEmpty, type ExportRow, type ExportSection, formatTime, noUuid, pickFields } from './section.ts';

/** Creates the section of a table, in the order of its key. */
const section = (
  kind: OfferKind,
  [table, column]: readonly [table: string, column: string],
  record: (row: ExportRow) => ExportRow,
): ExportSection => ({
  kind,
  start: column === 'app_id' ? noUuid : '',
  page: (sql: Queryable, after, limit) => sql`
    select ${sql(column)} as key, * from ${sql(table)}
    where ${sql(column)} > ${after} order by ${sql(column)} limit ${limit}`,
  record,
});

const history = (row: ExportRow): ExportRow => ({
  ...dropEmpty(pickFields(row, ['created_by', 'updated_by'])),
  created_at: formatTime(row.created_at),
  last_updated: formatTime(row.last_updated),
});

const questionOf = (question: ExportRow): ExportRow => ({
  ...pickFields(question, ['id', 'question']),
  ...dropEmpty(pickFields(question, ['paragraph', 'placeholder', 'short'])),
});
const questionsOf = (row: ExportRow): ExportRow => ({
  questions: (row.questions as ExportRow[]).map(questionOf),
});

export const offerSections: readonly ExportSection[] = [
  section('tier', ['vote_credit_tiers', 'id'], (row) => ({
    ...pickFields(row, ['id', 'target_type', 'position', 'votes', 'cents']),
    created_at: formatTime(row.created_at),
  })),
  section('benefit', ['shop_benefits', 'id'], (row) => ({
    ...pickFields(row, ['id', 'name']),
    ...dropEmpty(pickFields(row, ['description', 'target_types'])),
    ...history(row),
  })),
  section('item', ['shop_items', 'id'], (row) => ({
    ...pickFields(row, ['id', 'name']),
    cents: Number(row.cents),
    ...dropEmpty({
      ...pickFields(row, ['description', 'benefits', 'target_types']),
      duration: row.duration_hours,
    }),
    ...history(row),
  })),
  section('coupon', ['shop_coupons', 'id'], (row) => ({
    ...pickFields(row, ['id', 'code']),
    cents: Number(row.cents),
    usable: row.usable,
    ...dropEmpty({
      ...pickFields(row, ['public', 'max_uses', 'allowed_users', 'applicable_items', 'requirements']),
      target_types: row.target_types,
      expiry: row.expiry_hours,
      reuse_wait_duration: row.reuse_wait_hours,
    }),
    ...history(row),
  })),
  section('post', ['blog_posts', 'slug'], (row) => ({
    ...pickFields(row, ['slug', 'title', 'content']),
    ...dropEmpty(pickFields(row, ['description', 'tags', 'draft'])),
    author: row.author_id,
    created_at: formatTime(row.created_at),
  })),
  section('position', ['app_positions', 'id'], (row) => ({
    ...pickFields(row, ['id', 'name', 'ordinal']),
    ...dropEmpty({ ...pickFields(row, ['info', 'tags', 'closed', 'hidden']), cooldown: row.cooldown_hours }),
    ...questionsOf(row),
  })),
  section('application', ['apps', 'app_id'], (row) => ({
    ...pickFields(row, ['app_id', 'user_id', 'position']),
    ...questionsOf(row),
    ...pickFields(row, ['answers', 'state']),
    ...dropEmpty({ review_feedback: row.review_feedback, reviewed_at: formatTime(row.reviewed_at) }),
    created_at: formatTime(row.created_at),
  })),
  section('word', ['reserved_words', 'word'], (row) => ({
    word: row.word,
    created_at: formatTime(row.created_at),
  })),
];
