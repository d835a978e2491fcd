/**
 * Inserts the new tiers, shop rows, posts, positions, applications and reserved names of a batch.
 *
 * As with all records, an existing row stays as it is, and a record may refer only to rows that exist or come
 * before it. The positions that a new directory has are deleted when a file brings positions of its own.
 * Called by write.ts, in its transaction.
 */
import { canRequest, type Question } from '../../engine/rules/applications.ts';
import type { Transaction } from '../sql/client.ts';
import { type OfferKind, type OfferOf, type OfferRecord, offerKinds } from './offers-schema.ts';
import type { Fault } from './plan.ts';
import { buildInsert, type TableRows, toJson, toTextArray, type Wanted } from './rows.ts';

export interface NumberedOffer {
  readonly line: number;
  readonly record: OfferRecord;
}
export interface OffersWritten {
  readonly added: Readonly<Record<OfferKind, number>>;
  readonly skipped: number;
  readonly faults: readonly Fault[];
}

/** Inserts the new records. `now` (ISO) is used for times that records leave out. */
export const writeOffers = async (
  sql: Transaction,
  offers: readonly NumberedOffer[],
  now: string,
): Promise<OffersWritten> => {
  const added = Object.fromEntries(offerKinds.map((kind) => [kind, 0])) as Record<OfferKind, number>;
  const faults: Fault[] = [];
  let skipped = 0;
  if (offers.some(({ record }) => record.kind === 'position')) {
    await sql`delete from app_positions where shipped`;
  }
  for (const kind of offerKinds) {
    const given = offers.filter(({ record }) => record.kind === kind);
    if (given.length === 0) continue;
    const { fresh, known } = await newOf(sql, kind, given);
    const named = await namedIds(sql, kind);
    const taken: OfferRecord[] = [];
    for (const { line, record } of fresh) {
      const reason = faultOf(record, named);
      if (reason === null) taken.push(record);
      else faults.push({ line, reason });
    }
    await insert(sql, tables({ now })[kind] as TableRows<OfferRecord>, taken);
    added[kind] = taken.length;
    skipped += known;
  }
  return { added, skipped, faults };
};

const insert = async (
  sql: Transaction,
  table: TableRows<OfferRecord>,
  rows: readonly OfferRecord[],
): Promise<void> => {
  if (rows.length === 0) return;
  const { text, parameters } = buildInsert(table, rows);
  await sql.unsafe(text, parameters, { prepare: true });
};

const keyOf = (record: OfferRecord): string => {
  if (record.kind === 'post') return record.slug;
  if (record.kind === 'application') return record.app_id;
  return record.kind === 'word' ? record.word : record.id;
};
const keyColumns: Readonly<Record<OfferKind, readonly [table: string, column: string]>> = {
  tier: ['vote_credit_tiers', 'id'],
  benefit: ['shop_benefits', 'id'],
  item: ['shop_items', 'id'],
  coupon: ['shop_coupons', 'id'],
  post: ['blog_posts', 'slug'],
  position: ['app_positions', 'id'],
  application: ['apps', 'app_id'],
  word: ['reserved_words', 'word'],
};

/** Finds the records that do not exist yet; of two lines with one id it takes the first. */
const newOf = async (
  sql: Transaction,
  kind: OfferKind,
  given: readonly NumberedOffer[],
): Promise<{ readonly fresh: readonly NumberedOffer[]; readonly known: number }> => {
  const [table, column] = keyColumns[kind];
  const keys = given.map(({ record }) => keyOf(record));
  const rows = await sql<{ key: string }[]>`
    select ${sql(column)}::text as key from ${sql(table)}
    where ${sql(column)}::text = any(${toTextArray(keys)}::text[])`;
  const there = new Set(rows.map(({ key }) => key));
  const fresh = given.filter(({ record }) => {
    const isNew = !there.has(keyOf(record));
    there.add(keyOf(record));
    return isNew;
  });
  return { fresh, known: given.length - fresh.length };
};

/** Reads the ids that a record of this kind may refer to: at most 1,000 benefits or items. */
const namedIds = async (sql: Transaction, kind: OfferKind): Promise<ReadonlySet<string>> => {
  if (kind !== 'item' && kind !== 'coupon') return new Set();
  const table = kind === 'item' ? 'shop_benefits' : 'shop_items';
  const rows = await sql<{ id: string }[]>`select id from ${sql(table)}`;
  return new Set(rows.map(({ id }) => id));
};

const faultOf = (record: OfferRecord, named: ReadonlySet<string>): string | null => {
  if (record.kind === 'item' || record.kind === 'coupon') {
    const [word, ids] =
      record.kind === 'item' ? ['benefit', record.benefits] : ['item', record.applicable_items];
    const unknown = (ids ?? []).filter((id) => !named.has(id));
    return unknown.length === 0 ? null : `there is no ${word} ${unknown.join(', ')}`;
  }
  if (record.kind !== 'position' || canRequest(record.id, record.questions.map(questionOf))) return null;
  return 'questions must have a short question with the id bot_id: this position is about a bot';
};

const questionOf = (question: OfferOf<'position'>['questions'][number]): Question => ({
  id: question.id,
  question: question.question,
  short: question.short ?? false,
  paragraph: question.paragraph ?? '',
  placeholder: question.placeholder ?? '',
});

/* ---------------------------------------------------------------- rows */

type Tables = { readonly [Kind in OfferKind]: TableRows<OfferOf<Kind>> };
type ShopRecord = OfferOf<'benefit'> | OfferOf<'item'> | OfferOf<'coupon'>;

const shopColumns = ({ now }: Wanted): TableRows<ShopRecord>['columns'] => [
  { name: 'id', type: 'text', value: (r) => r.id },
  { name: 'target_types', type: 'text', cast: 'text[]', value: (r) => toTextArray(r.target_types ?? []) },
  { name: 'created_by', type: 'text', value: (r) => r.created_by },
  { name: 'updated_by', type: 'text', value: (r) => r.updated_by },
  { name: 'created_at', type: 'timestamptz', value: (r) => r.created_at ?? now },
  { name: 'last_updated', type: 'timestamptz', value: (r) => r.last_updated ?? r.created_at ?? now },
];

const tables = (wanted: Wanted): Tables => ({
  ...shopTables(wanted),
  ...peopleTables(wanted),
  tier: {
    table: 'vote_credit_tiers',
    columns: [
      { name: 'id', type: 'text', value: (r) => r.id },
      { name: 'target_type', type: 'text', value: (r) => r.target_type },
      { name: 'position', type: 'integer', value: (r) => r.position },
      { name: 'votes', type: 'bigint', value: (r) => r.votes },
      { name: 'cents', type: 'bigint', value: (r) => r.cents },
      { name: 'created_at', type: 'timestamptz', value: (r) => r.created_at ?? wanted.now },
    ],
  },
  post: {
    table: 'blog_posts',
    columns: [
      { name: 'slug', type: 'text', value: (r) => r.slug },
      { name: 'title', type: 'text', value: (r) => r.title },
      { name: 'description', type: 'text', value: (r) => r.description ?? '' },
      { name: 'content', type: 'text', value: (r) => r.content },
      { name: 'tags', type: 'text', cast: 'text[]', value: (r) => toTextArray(r.tags ?? []) },
      { name: 'author_id', type: 'text', value: (r) => r.author },
      { name: 'draft', type: 'boolean', value: (r) => r.draft ?? false },
      { name: 'created_at', type: 'timestamptz', value: (r) => r.created_at ?? wanted.now },
    ],
  },
  word: {
    table: 'reserved_words',
    columns: [
      { name: 'word', type: 'text', value: (r) => r.word },
      { name: 'created_at', type: 'timestamptz', value: (r) => r.created_at ?? wanted.now },
    ],
  },
});

const shopTables = (wanted: Wanted): Pick<Tables, 'benefit' | 'item' | 'coupon'> => ({
  benefit: {
    table: 'shop_benefits',
    columns: [
      ...shopColumns(wanted),
      { name: 'name', type: 'text', value: (r) => r.name },
      { name: 'description', type: 'text', value: (r) => r.description ?? '' },
    ],
  },
  item: {
    table: 'shop_items',
    columns: [
      ...shopColumns(wanted),
      { name: 'name', type: 'text', value: (r) => r.name },
      { name: 'description', type: 'text', value: (r) => r.description ?? '' },
      { name: 'cents', type: 'numeric', value: (r) => r.cents },
      { name: 'duration_hours', type: 'integer', value: (r) => r.duration ?? 0 },
      { name: 'benefits', type: 'text', cast: 'text[]', value: (r) => toTextArray(r.benefits ?? []) },
    ],
  },
  coupon: {
    table: 'shop_coupons',
    columns: [
      ...shopColumns(wanted),
      { name: 'code', type: 'text', value: (r) => r.code },
      { name: 'cents', type: 'numeric', value: (r) => r.cents },
      { name: 'public', type: 'boolean', value: (r) => r.public ?? false },
      { name: 'usable', type: 'boolean', value: (r) => r.usable ?? true },
      { name: 'expiry_hours', type: 'integer', value: (r) => r.expiry ?? 0 },
      { name: 'max_uses', type: 'integer', value: (r) => r.max_uses ?? 0 },
      { name: 'reuse_wait_hours', type: 'integer', value: (r) => r.reuse_wait_duration ?? 0 },
      {
        name: 'allowed_users',
        type: 'text',
        cast: 'text[]',
        value: (r) => toTextArray(r.allowed_users ?? []),
      },
      {
        name: 'applicable_items',
        type: 'text',
        cast: 'text[]',
        value: (r) => toTextArray(r.applicable_items ?? []),
      },
      { name: 'requirements', type: 'text', cast: 'text[]', value: (r) => toTextArray(r.requirements ?? []) },
    ],
  },
});

const peopleTables = ({ now }: Wanted): Pick<Tables, 'position' | 'application'> => ({
  position: {
    table: 'app_positions',
    columns: [
      { name: 'id', type: 'text', value: (r) => r.id },
      { name: 'ordinal', type: 'integer', value: (r) => r.ordinal ?? 0 },
      { name: 'name', type: 'text', value: (r) => r.name },
      { name: 'info', type: 'text', value: (r) => r.info ?? '' },
      { name: 'tags', type: 'text', cast: 'text[]', value: (r) => toTextArray(r.tags ?? []) },
      { name: 'questions', type: 'text', cast: 'jsonb', value: (r) => toJson(r.questions.map(questionOf)) },
      { name: 'closed', type: 'boolean', value: (r) => r.closed ?? false },
      { name: 'hidden', type: 'boolean', value: (r) => r.hidden ?? false },
      { name: 'cooldown_hours', type: 'integer', value: (r) => r.cooldown ?? 0 },
    ],
  },
  application: {
    table: 'apps',
    columns: [
      { name: 'app_id', type: 'uuid', value: (r) => r.app_id },
      { name: 'user_id', type: 'text', value: (r) => r.user_id },
      { name: 'position', type: 'text', value: (r) => r.position },
      { name: 'questions', type: 'text', cast: 'jsonb', value: (r) => toJson(r.questions.map(questionOf)) },
      { name: 'answers', type: 'text', cast: 'jsonb', value: (r) => toJson(r.answers) },
      { name: 'state', type: 'text', value: (r) => r.state },
      { name: 'review_feedback', type: 'text', value: (r) => r.review_feedback ?? '' },
      { name: 'created_at', type: 'timestamptz', value: (r) => r.created_at ?? now },
      { name: 'reviewed_at', type: 'timestamptz', value: (r) => r.reviewed_at },
    ],
  },
});
