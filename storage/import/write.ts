/**
 * Writes one batch of records in the caller's transaction.
 *
 * Writes the tables in the order of their references. SQL may refuse a row for a reason that the plan could
 * not see (an itag in use, a concurrent writer): then the batch is halved until the line is found, and the
 * line gets the reason. Writes SQL only; the engine reads an entity on first use. Called by import.ts.
 */
import type { Transaction } from '../sql/client.ts';
import { toStorageError } from '../sql/errors.ts';
import type { NumberedRecord } from './batches.ts';
import { type NumberedOffer, writeOffers } from './offers.ts';
import { isOffer, type OfferKind } from './offers-schema.ts';
import type { Fault, Listing, Plan } from './plan.ts';
import { planBatch } from './resolve.ts';
import {
  buildBotTable,
  buildInsert,
  buildMemberTable,
  buildPackTable,
  buildServerTable,
  buildSessionTable,
  buildTeamTable,
  buildUserTable,
  buildVanityTable,
  type TableRows,
  toAddressed,
  totalsRows,
  voteRows,
} from './rows.ts';
import { type DirectoryRecord, type RecordKind, recordKinds } from './schema.ts';

export type Counts = Record<RecordKind, number>;
export const createZeroCounts = (): Counts =>
  Object.fromEntries(recordKinds.map((kind) => [kind, 0])) as Counts;

export interface Written {
  /** Records added, by kind. */
  readonly added: Counts;
  /** Records whose id or key was already in the store. */
  skipped: number;
  readonly faults: Fault[];
}

/** Inserts the new records. `now` (ISO) is used for times that records leave out. */
export const writeBatch = async (
  sql: Transaction,
  records: readonly NumberedRecord[],
  now: string,
): Promise<Written> => {
  const written: Written = { added: createZeroCounts(), skipped: 0, faults: [] };
  const open: (readonly NumberedRecord[])[] = records.length > 0 ? [records] : [];
  for (let part = open.pop(); part; part = open.pop()) {
    const refusal = await tryPart(sql, { part, now, written });
    if (refusal === null) continue;
    const half = part.length >> 1;
    if (half === 0) written.faults.push({ line: part[0]?.line ?? 0, reason: refusal });
    else open.push(part.slice(half), part.slice(0, half));
  }
  written.faults.sort((a, b) => a.line - b.line);
  return written;
};

interface Part {
  readonly part: readonly NumberedRecord[];
  readonly now: string;
  readonly written: Written;
}

/** Writes a whole part and returns `null`; or writes nothing and returns why SQL refused a row. */
const tryPart = async (sql: Transaction, { part, now, written }: Part): Promise<string | null> => {
  try {
    const done = await sql.savepoint(async (inner) => {
      const plan = await planBatch(inner, part.filter(isOfDirectory));
      const added = await writePlan(inner, plan, now);
      const offers = await writeOffers(inner, part.filter(isNumberedOffer), now);
      return { plan, offers, added: { ...added, ...offers.added } };
    });
    for (const kind of recordKinds) written.added[kind] += done.added[kind];
    written.skipped += done.plan.skipped + done.offers.skipped;
    written.faults.push(...done.plan.faults, ...done.offers.faults);
    return null;
  } catch (error) {
    const failure = toStorageError('import', error);
    if (failure.reason !== 'row') throw failure;
    return `refused by the database: ${(error as { detail?: string }).detail ?? (error as Error).message}`;
  }
};

const isNumberedOffer = (entry: NumberedRecord): entry is NumberedRecord & NumberedOffer =>
  isOffer(entry.record);
const isOfDirectory = (entry: NumberedRecord): entry is NumberedRecord & { record: DirectoryRecord } =>
  !isOffer(entry.record);

const writePlan = async (sql: Transaction, plan: Plan, now: string): Promise<Omit<Counts, OfferKind>> => {
  const teams = plan.teams.map(toAddressed);
  const servers = plan.servers.map(toAddressed);
  const bots = plan.bots.map(toAddressed);
  const listings: Listing[] = [...teams, ...servers, ...bots, ...plan.packs];
  const members = plan.teams.flatMap((team) => team.record.members.map((member) => ({ team, member })));
  const wanted = { now };
  // All statements are sent at once: a transaction has one connection, which runs them in this order.
  const [user, , , team, , server, bot, pack, vote, session] = await Promise.all([
    insert(sql, buildUserTable(wanted), plan.users),
    insert(sql, totalsRows, listings),
    insert(sql, buildVanityTable(wanted), [...teams, ...servers, ...bots]),
    insert(sql, buildTeamTable(wanted), teams),
    insert(sql, buildMemberTable(wanted), members),
    insert(sql, buildServerTable(wanted), servers),
    insert(sql, buildBotTable(wanted), bots),
    insert(sql, buildPackTable(wanted), plan.packs),
    insert(sql, voteRows, plan.votes),
    insert(sql, buildSessionTable(wanted), plan.sessions),
  ]);
  const repeated = plan.votes.length - vote + (plan.sessions.length - session) + (plan.users.length - user);
  plan.skipped += repeated;
  return { user, team, server, bot, pack, vote, session };
};

const insert = async <Row>(
  sql: Transaction,
  table: TableRows<Row>,
  rows: readonly Row[],
): Promise<number> => {
  if (rows.length === 0) return 0;
  const { text, parameters } = buildInsert(table, rows);
  const result = await sql.unsafe(text, parameters, { prepare: true });
  return result.count;
};
