/**
 * Records of what an operator offers, in the export: tiers, the shop, the blog, positions, applications,
 * words. Each kind by its id. Called by records.ts, which owns the order of the whole.
 */
import type { OfferKind } from '../import/offers-schema.ts';
import type { Queryable } from '../sql/client.ts';
import { compact, noUuid, pick, type Row, type Section, time } from './section.ts';

/** A table read whole in the order of its key. */
const section = (
  kind: OfferKind,
  [table, column]: readonly [table: string, column: string],
  record: (row: Row) => Row,
): Section => ({
  kind,
  start: column === 'app_id' ? noUuid : '',
  page: (sql: Queryable, after, limit) => sql`
    select ${sql(column)} as key, * from ${sql(table)}
    where ${sql(column)} > ${after} order by ${sql(column)} limit ${limit}`,
  record,
});

const history = (row: Row): Row => ({
  ...compact(pick(row, ['created_by', 'updated_by'])),
  created_at: time(row.created_at),
  last_updated: time(row.last_updated),
});

const questionOf = (question: Row): Row => ({
  ...pick(question, ['id', 'question']),
  ...compact(pick(question, ['paragraph', 'placeholder', 'short'])),
});
const questionsOf = (row: Row): Row => ({ questions: (row.questions as Row[]).map(questionOf) });

export const offerSections: readonly Section[] = [
  section('tier', ['vote_credit_tiers', 'id'], (row) => ({
    ...pick(row, ['id', 'target_type', 'position', 'votes', 'cents']),
    created_at: time(row.created_at),
  })),
  section('benefit', ['shop_benefits', 'id'], (row) => ({
    ...pick(row, ['id', 'name']),
    ...compact(pick(row, ['description', 'target_types'])),
    ...history(row),
  })),
  section('item', ['shop_items', 'id'], (row) => ({
    ...pick(row, ['id', 'name']),
    cents: Number(row.cents),
    ...compact({ ...pick(row, ['description', 'benefits', 'target_types']), duration: row.duration_hours }),
    ...history(row),
  })),
  section('coupon', ['shop_coupons', 'id'], (row) => ({
    ...pick(row, ['id', 'code']),
    cents: Number(row.cents),
    usable: row.usable,
    ...compact({
      ...pick(row, ['public', 'max_uses', 'allowed_users', 'applicable_items', 'requirements']),
      target_types: row.target_types,
      expiry: row.expiry_hours,
      reuse_wait_duration: row.reuse_wait_hours,
    }),
    ...history(row),
  })),
  section('post', ['blog_posts', 'slug'], (row) => ({
    ...pick(row, ['slug', 'title', 'content']),
    ...compact(pick(row, ['description', 'tags', 'draft'])),
    author: row.author_id,
    created_at: time(row.created_at),
  })),
  section('position', ['app_positions', 'id'], (row) => ({
    ...pick(row, ['id', 'name', 'ordinal']),
    ...compact({ ...pick(row, ['info', 'tags', 'closed', 'hidden']), cooldown: row.cooldown_hours }),
    ...questionsOf(row),
  })),
  section('application', ['apps', 'app_id'], (row) => ({
    ...pick(row, ['app_id', 'user_id', 'position']),
    ...questionsOf(row),
    ...pick(row, ['answers', 'state']),
    ...compact({ review_feedback: row.review_feedback, reviewed_at: time(row.reviewed_at) }),
    created_at: time(row.created_at),
  })),
  section('word', ['reserved_words', 'word'], (row) => ({
    word: row.word,
    created_at: time(row.created_at),
  })),
];
