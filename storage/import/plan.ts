/**
 * Plans a batch of checked records: which are new, which exist already, and which are refused.
 *
 * Looks up existing records, references, client ids and free vanity codes, and allocates incarnations. A
 * record may refer only to what the store has or an earlier line created, so the result does not depend on
 * how a file is cut into batches. Decides in the order of the lines, but a code that a line of the import
 * requests is no candidate of the others.
 */
import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import {
  findVanityCodeFault,
  foldVanityCode,
  listVanityCandidates,
  type VanityKind,
} from '../../engine/rules/vanity.ts';
import { formatTexts, type Transaction } from '../sql/client.ts';
import { readColumn } from '../sql/rows.ts';
import { type AnyRecord, getValue } from './fields.ts';
import {
  type ImportRecord,
  type KindName,
  kindNames,
  type RecordKind,
  type RecordOfKind,
  recordKinds,
} from './kinds.ts';

export interface NumberedRecord {
  readonly line: number;
  readonly record: ImportRecord;
}
export interface Fault {
  readonly line: number;
  readonly reason: string;
}
/** A new record, and for a listing or a vote what the store assigns. */
export interface Entry {
  readonly line: number;
  readonly kind: KindName;
  readonly id: string;
  record: AnyRecord;
  incarnation?: number | undefined;
  /** It requested a vanity code that it could not have. */
  missesCode?: boolean;
}
export interface Plan {
  readonly entries: Readonly<Record<KindName, Entry[]>>;
  readonly faults: Fault[];
  /** Records that exist already. */
  skipped: number;
}

interface Present {
  readonly incarnation?: number | undefined;
  /** Of users. */
  readonly name?: string;
}
/** What is known while a batch is planned; grows with each accepted record. */
const createKnown = () => ({
  /** By `kind:id`: what exists or was accepted. */
  present: new Map<string, Present>(),
  /** By `kind:value` of a field that is unique: the id that has it. */
  owners: new Map<string, string>(),
  /** `kind:id` of records of this batch that were refused. */
  refused: new Set<string>(),
});
type Known = ReturnType<typeof createKnown>;

/** What an import knows beside its lines. */
export interface PlanContext {
  /** ISO time of the import. */
  readonly now: string;
  /** Folded vanity codes that lines of the import request, also lines after this batch. */
  readonly requestedCodes: ReadonlySet<string>;
}
interface Batch {
  readonly sql: Transaction;
  readonly plan: Plan;
  readonly known: Known;
  readonly context: PlanContext;
}

const join = (kind: string, id: string): string => `${kind}:${id}`;

/** Plans a batch. The plan has no record that the store already has. */
export const planBatch = async (
  sql: Transaction,
  records: readonly NumberedRecord[],
  context: PlanContext,
): Promise<Plan> => {
  // The positions of a new directory give way to those of a file.
  if (records.some(({ record }) => record.kind === 'position'))
    await sql`delete from app_positions where shipped`;
  const batch = await planRecords(sql, records, context);
  await assignVanities(batch);
  await assignIncarnations(batch);
  placeVotes(batch);
  return batch.plan;
};

/** Plans all but vanity codes and incarnations. */
const planRecords = async (
  sql: Transaction,
  records: readonly NumberedRecord[],
  context: PlanContext,
): Promise<Batch> => {
  const entries = Object.fromEntries(kindNames.map((kind) => [kind, [] as Entry[]])) as Plan['entries'];
  const plan: Plan = { entries, faults: [], skipped: 0 };
  const known = await lookUp(sql, records, context.now);
  const batch: Batch = { sql, plan, known, context };
  for (const { line, record } of records) {
    const reason = take(batch, line, record);
    if (reason === null) continue;
    plan.faults.push({ line, reason });
    known.refused.add(join(record.kind, getId(recordKinds[record.kind], record)));
  }
  return batch;
};

/* ---------------------------------------------------------------- look-ups */

const getId = (kind: RecordKind, record: AnyRecord): string => String(record[kind.key]);
const getUnique = (kind: RecordKind, record: AnyRecord, now: string): string => {
  const name = kind.unique as string;
  return String(getValue(record, [name, kind.fields[name] as RecordKind['fields'][string]], now));
};

const lookUp = async (sql: Transaction, records: readonly NumberedRecord[], now: string): Promise<Known> => {
  const ids = new Map<string, Set<string>>();
  const values = new Map<string, Set<string>>();
  const add = (sets: Map<string, Set<string>>, name: string, text: string): void => {
    const set = sets.get(name);
    if (set === undefined) sets.set(name, new Set([text]));
    else set.add(text);
  };
  for (const { record } of records) {
    const kind = recordKinds[record.kind];
    for (const [name, id] of kind.listReferences?.(record) ?? []) add(ids, name, id);
    if (!kind.isBlind) add(ids, kind.name, getId(kind, record));
    if (record.kind === 'bot') add(ids, 'user', record.bot_id);
    if (kind.unique) add(values, kind.name, getUnique(kind, record, now));
  }
  const known = createKnown();
  const find = <Row extends object>(statement: string, wanted: ReadonlySet<string>) =>
    sql.unsafe<Row[]>(statement, [formatTexts([...wanted])]);
  await Promise.all([
    ...[...ids].map(async ([name, wanted]) => {
      const statement = selectByIds(recordKinds[name as KindName]);
      for (const row of await find<{ id: string } & Present>(statement, wanted))
        known.present.set(join(name, row.id), row);
    }),
    ...[...values].map(async ([name, wanted]) => {
      const statement = selectOwners(recordKinds[name as KindName]);
      for (const { value, id } of await find<{ value: string; id: string }>(statement, wanted))
        known.owners.set(join(name, value), id);
    }),
  ]);
  return known;
};

const selectByIds = ({ name, table, key, listing, fields }: RecordKind): string => {
  const found = listing
    ? `select entity_id as id, incarnation from totals where kind = '${name}' and entity_id`
    : `select ${key} as id${name === 'user' ? userName : ''} from ${table} where ${key}`;
  return `${found} = any($1::${fields[key]?.type}[])`;
};
/** For the vanity codes of bots whose record has neither name nor code. */
const userName = `, coalesce(nullif(display_name, ''), username) as name`;

const selectOwners = ({ table, key, unique }: RecordKind): string =>
  `select ${unique} as value, ${key} as id from ${table} where ${unique} = any($1::text[])`;

/* ------------------------------------------------------------------ planning */

/** Adds one record to the plan, or returns why it is refused. */
const take = (batch: Batch, line: number, record: ImportRecord): string | null => {
  const { plan, known, context } = batch;
  const kind = recordKinds[record.kind];
  const id = getId(kind, record);
  if (!kind.isBlind && known.present.has(join(kind.name, id))) {
    plan.skipped++;
    return null;
  }
  const missing = (kind.listReferences?.(record) ?? []).filter((named) => !known.present.has(join(...named)));
  if (missing[0]) {
    const ids = missing.map(([, name]) => name).join(', ');
    if (missing.some((named) => known.refused.has(join(...named))))
      return `the ${missing[0][0]} ${ids} was refused`;
    return `there is no ${missing[0][0]} ${ids} (a record must come after those it refers to)`;
  }
  if (kind.unique) {
    const value = getUnique(kind, record, context.now);
    const other = known.owners.get(join(kind.name, value));
    if (other !== undefined) return `${kind.unique} ${value} belongs to ${kind.name} ${other}`;
    known.owners.set(join(kind.name, value), id);
  }
  if (record.kind === 'bot') takeAccount(batch, line, record);
  const entry: Entry = { line, kind: kind.name, id, record };
  plan.entries[kind.name].push(entry);
  if (record.kind === 'user')
    known.present.set(join('user', id), { name: record.display_name || record.username });
  else if (!kind.isBlind) known.present.set(join(kind.name, id), entry);
  return null;
};

/** Takes the account of a bot, a user that the bot's record may create. */
const takeAccount = ({ plan, known }: Batch, line: number, record: RecordOfKind<'bot'>): void => {
  const { bot_id: id, user, created_at } = record;
  if (user === undefined || known.present.has(join('user', id))) return;
  known.present.set(join('user', id), { name: user.display_name || user.username });
  const account = { id, bot: true, ...user, ...(created_at && { created_at }) };
  plan.entries.user.push({ line, kind: 'user', id, record: account });
};

/* ------------------------------------------------------- codes and incarnations */

const listEntries = (plan: Plan, isWanted: (kind: RecordKind) => boolean): Entry[] =>
  kindNames.flatMap((name) => (isWanted(recordKinds[name]) ? plan.entries[name] : []));
export const listListings = (plan: Plan): Entry[] =>
  listEntries(plan, ({ listing }) => listing !== undefined);
export const listNamed = (plan: Plan): Entry[] => listEntries(plan, ({ listing }) => listing === 'named');

/** Returns the code that a record asks for, `null` if it asks for none that can be had. */
const findRequestedCode = ({ record }: Entry): string | null => {
  const code = foldVanityCode((record.vanity as string | undefined) ?? '');
  return findVanityCodeFault(code) === null ? code : null;
};

/** The last candidate is random, so that one is always free. */
const listCodes = ({ known, context }: Batch, entry: Entry): readonly string[] => {
  const { kind, id, record } = entry;
  const name = kind === 'bot' ? known.present.get(join('user', id))?.name : (record.name as string);
  const candidates = listVanityCandidates(kind as VanityKind, id, name ?? '');
  const free = candidates.filter((code) => !context.requestedCodes.has(code));
  return [findRequestedCode(entry) ?? [], ...free, `${kind}-${randomBytes(6).toString('hex')}`].flat();
};

/** Selects those that an entity has, or that the operator keeps from listings that did not request them. */
const selectTaken = (sql: Transaction, wanted: readonly string[], unasked: readonly string[]) =>
  readColumn<string>(sql`
    select code from vanity where code = any(${formatTexts(wanted)}::text[])
    union select word from reserved_words where word = any(${formatTexts(unasked)}::text[])`);

/** Gives each new listing its first free candidate code. */
const assignVanities = async (batch: Batch): Promise<void> => {
  const { sql, plan } = batch;
  let open = listNamed(plan).map((entry) => ({
    ...{ entry, requested: findRequestedCode(entry), codes: listCodes(batch, entry) },
  }));
  const given = new Set<string>();
  for (let round = 0; open.length > 0; round++) {
    const listRound = (list: typeof open) => list.flatMap(({ codes }) => codes[round] ?? []);
    const unasked = open.filter(({ requested, codes }) => codes[round] !== requested);
    const taken = new Set(await selectTaken(sql, listRound(open), listRound(unasked)));
    open = open.filter(({ entry, requested, codes }) => {
      const code = codes[round] ?? '';
      if (taken.has(code) || given.has(code)) return true;
      given.add(code);
      entry.missesCode = entry.record.vanity !== undefined && code !== requested;
      entry.record = { ...entry.record, vanity: code, vanity_ref: entry.record.vanity_ref ?? uuidv7() };
      return false;
    });
  }
};

const assignIncarnations = async ({ sql, plan }: Batch): Promise<void> => {
  const listings = listListings(plan).sort((a, b) => a.line - b.line);
  if (listings.length === 0) return;
  const taken = await readColumn<number>(sql`
    select nextval('incarnations') from generate_series(1, ${listings.length}::int)`);
  const incarnations = taken.toSorted((a, b) => a - b);
  for (const [index, listing] of listings.entries()) listing.incarnation = incarnations[index] ?? 0;
};

/** Gives each vote the listing that its target has now, or 0 if it belongs to a former listing. */
const placeVotes = ({ plan, known }: Batch): void => {
  for (const vote of plan.entries.vote) {
    const { target_type, target_id, former } = vote.record as RecordOfKind<'vote'>;
    vote.incarnation = former ? 0 : known.present.get(join(target_type, target_id))?.incarnation;
  }
};
