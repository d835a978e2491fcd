/**
 * Plans a batch of checked records: which are new, which exist already, and which are refused.
 *
 * Looks up existing entities, references, client ids and free vanity codes, and allocates incarnations. A
 * record may refer only to what the store has or an earlier line created, so the result does not depend on
 * how a file is cut into batches. Decides in the order of the lines and writes no rows. Called by write.ts,
 * in its transaction.
 */
import { computeShard, type EntityKind, toAddress } from '../../engine/ids.ts';
import { foldVanityCode, listVanityCandidates } from '../../engine/rules/vanity.ts';
import type { Transaction } from '../sql/client.ts';
import type { NumberedRecord } from './batches.ts';
import type { Listing, Plan } from './plan.ts';
import { toTextArray } from './rows.ts';
import type {
  BotRecord,
  DirectoryRecord,
  EntityRecord,
  ServerRecord,
  TeamRecord,
  UserRecord,
  VoteRecord,
} from './schema.ts';

type AnyKind = EntityKind | 'user';
type DirectoryEntry = NumberedRecord & { readonly record: DirectoryRecord };

/** What is known while a batch is planned; grows with each accepted record. */
interface Known {
  /** `kind:id` of all users and entities that exist or were accepted. */
  readonly present: Set<string>;
  readonly incarnations: Map<string, number>;
  readonly clientOwners: Map<string, string>;
  /** Names of users, for the vanity codes of bots whose record has neither name nor code. */
  readonly names: Map<string, string>;
}

/** Plans a batch. The plan has no entity that the store already has. */
export const planBatch = async (sql: Transaction, records: readonly DirectoryEntry[]): Promise<Plan> => {
  const known = await lookUp(sql, records);
  const plan: Plan = {
    users: [],
    teams: [],
    servers: [],
    bots: [],
    packs: [],
    votes: [],
    sessions: [],
    faults: [],
    skipped: 0,
  };
  const waiting: { line: number; record: VoteRecord }[] = [];
  for (const { line, record } of records) {
    const fault = take(plan, known, { line, record, waiting });
    if (fault !== null) plan.faults.push({ line, reason: fault });
  }
  await assignVanities(sql, plan, known);
  await assignIncarnations(sql, plan, known);
  for (const { line, record } of waiting) {
    const incarnation = record.former
      ? 0
      : known.incarnations.get(keyOf(record.target_type, record.target_id));
    if (incarnation !== undefined) plan.votes.push({ record, incarnation });
    else plan.faults.push({ line, reason: `the ${record.target_type} ${record.target_id} was refused` });
  }
  plan.faults.sort((a, b) => a.line - b.line);
  return plan;
};

const keyOf = (kind: AnyKind, id: string): string => `${kind}:${id}`;

/** Returns the id in a record of an entity. Each kind of entity has it in a field of another name. */
export const getRecordId = (record: EntityRecord): string => {
  if (record.kind === 'bot') return record.bot_id;
  if (record.kind === 'server') return record.server_id;
  return record.kind === 'pack' ? record.url : record.id;
};

/* ---------------------------------------------------------------- look-ups */

const namedIn = (records: readonly DirectoryEntry[]): Map<AnyKind, Set<string>> => {
  const named = new Map<AnyKind, Set<string>>();
  const add = (kind: AnyKind, id: string): void => {
    const ids = named.get(kind) ?? new Set();
    named.set(kind, ids.add(id));
  };
  for (const { record } of records) {
    for (const [kind, id] of referencesOf(record)) add(kind, id);
    if (record.kind === 'user') add('user', record.id);
    else if (record.kind !== 'vote' && record.kind !== 'session') add(record.kind, getRecordId(record));
    if (record.kind === 'bot') add('user', record.bot_id);
  }
  return named;
};

/** Lists what must exist for a record to be accepted. */
const referencesOf = (record: DirectoryRecord): [AnyKind, string][] => {
  switch (record.kind) {
    case 'user':
      return [];
    case 'team':
      return record.members.map((member) => ['user', member.user_id]);
    case 'server':
      return [['team', record.team_owner]];
    case 'bot':
      return record.owner === undefined ? [['team', record.team_owner ?? '']] : [['user', record.owner]];
    case 'pack':
      return [['user', record.owner]];
    case 'vote':
      return record.former ? [] : [[record.target_type, record.target_id]];
    case 'session':
      return [[record.target_type, record.target_id]];
  }
};

const lookUp = async (sql: Transaction, records: readonly DirectoryEntry[]): Promise<Known> => {
  const known: Known = {
    present: new Set(),
    incarnations: new Map(),
    clientOwners: new Map(),
    names: new Map(),
  };
  const named = namedIn(records);
  const clients = records.flatMap(({ record }) => (record.kind === 'bot' ? [clientOf(record)] : []));
  const tasks = [...named].map(([kind, ids]) => lookUpIds(sql, known, { kind, ids }));
  await Promise.all([...tasks, lookUpClients(sql, known, clients)]);
  return known;
};

const lookUpIds = async (
  sql: Transaction,
  known: Known,
  named: { kind: AnyKind; ids: Set<string> },
): Promise<void> => {
  const ids = toTextArray([...named.ids]);
  if (named.kind === 'user') {
    const rows = await sql<{ id: string; name: string }[]>`
      select id, coalesce(nullif(display_name, ''), username) as name
      from users where id = any(${ids}::text[])`;
    for (const row of rows) {
      known.present.add(keyOf('user', row.id));
      known.names.set(row.id, row.name);
    }
    return;
  }
  const rows = await sql<{ id: string; incarnation: number }[]>`
    select entity_id as id, incarnation from totals
    where kind = ${named.kind} and entity_id = any(${ids}::text[])`;
  for (const row of rows) {
    known.present.add(keyOf(named.kind, row.id));
    known.incarnations.set(keyOf(named.kind, row.id), row.incarnation);
  }
};

const clientOf = (record: BotRecord): string => record.client_id ?? record.bot_id;

const lookUpClients = async (sql: Transaction, known: Known, clients: string[]): Promise<void> => {
  if (clients.length === 0) return;
  const rows = await sql<{ client_id: string; bot_id: string }[]>`
    select client_id, bot_id from bots where client_id = any(${toTextArray(clients)}::text[])`;
  for (const row of rows) known.clientOwners.set(row.client_id, row.bot_id);
};

/* ------------------------------------------------------------------ planning */

interface Taking {
  readonly line: number;
  readonly record: DirectoryRecord;
  readonly waiting: { line: number; record: VoteRecord }[];
}

/** Adds one record to the plan, or returns why it is refused. */
const take = (plan: Plan, known: Known, { line, record, waiting }: Taking): string | null => {
  for (const [kind, id] of referencesOf(record)) {
    if (!known.present.has(keyOf(kind, id)))
      return `there is no ${kind} ${id} (a record must come after those it refers to)`;
  }
  if (record.kind === 'vote') {
    waiting.push({ line, record });
    return null;
  }
  if (record.kind === 'session') {
    plan.sessions.push(record);
    return null;
  }
  return record.kind === 'user' ? takeUser(plan, known, record) : takeEntity(plan, known, { line, record });
};

const takeUser = (plan: Plan, known: Known, record: UserRecord): null => {
  const key = keyOf('user', record.id);
  if (known.present.has(key)) {
    plan.skipped++;
    return null;
  }
  known.present.add(key);
  known.names.set(record.id, record.display_name || record.username);
  plan.users.push(record);
  return null;
};

const takeEntity = (
  plan: Plan,
  known: Known,
  taken: { line: number; record: EntityRecord },
): string | null => {
  const { line, record } = taken;
  const id = getRecordId(record);
  const key = keyOf(record.kind, id);
  if (known.present.has(key)) {
    plan.skipped++;
    return null;
  }
  if (record.kind === 'bot') {
    const other = known.clientOwners.get(clientOf(record));
    if (other !== undefined) return `client_id ${clientOf(record)} belongs to bot ${other}`;
    known.clientOwners.set(clientOf(record), id);
    takeBotUser(plan, known, record);
  }
  known.present.add(key);
  const shard = computeShard(toAddress(record.kind, id));
  const listing = { line, record, kind: record.kind, id, shard, incarnation: 0, vanity: '' };
  listOf(plan, record.kind).push(listing);
  return null;
};

const listOf = (plan: Plan, kind: EntityKind): Listing[] =>
  ({ team: plan.teams, server: plan.servers, bot: plan.bots, pack: plan.packs })[kind] as Listing[];

const takeBotUser = (plan: Plan, known: Known, record: BotRecord): void => {
  const key = keyOf('user', record.bot_id);
  if (record.user === undefined || known.present.has(key)) return;
  known.present.add(key);
  known.names.set(record.bot_id, record.user.display_name || record.user.username);
  const { created_at } = record;
  plan.users.push({
    kind: 'user',
    id: record.bot_id,
    bot: true,
    ...record.user,
    ...(created_at && { created_at }),
  });
};

/* ------------------------------------------------------- codes and incarnations */

const nameOf = (known: Known, record: TeamRecord | ServerRecord | BotRecord): string =>
  record.kind === 'bot' ? (known.names.get(record.bot_id) ?? '') : record.name;

interface Wish {
  readonly listing: Listing<TeamRecord | ServerRecord | BotRecord>;
  readonly codes: readonly string[];
}

/** Gives each new listing its first free candidate code. A code in the record is the only candidate. */
const assignVanities = async (sql: Transaction, plan: Plan, known: Known): Promise<void> => {
  let open: Wish[] = [...plan.teams, ...plan.servers, ...plan.bots].map((listing) => {
    const { record, id } = listing;
    const asked = record.vanity;
    const codes = asked
      ? [foldVanityCode(asked)]
      : listVanityCandidates(record.kind, id, nameOf(known, record));
    return { listing, codes };
  });
  const given = new Set<string>();
  for (let round = 0; open.length > 0; round++) {
    const wanted = open.flatMap(({ codes }) => codes[round] ?? []);
    const taken = await takenCodes(sql, wanted);
    open = open.filter(({ listing, codes }) => {
      const code = codes[round];
      if (code === undefined) drop(plan, listing, codes);
      else if (!taken.has(code) && !given.has(code)) {
        listing.vanity = code;
        given.add(code);
      } else return true;
      return false;
    });
  }
};

const takenCodes = async (sql: Transaction, codes: readonly string[]): Promise<Set<string>> => {
  if (codes.length === 0) return new Set();
  const rows = await sql<{ code: string }[]>`
    select code from vanity where code = any(${toTextArray(codes)}::text[])`;
  return new Set(rows.map((row) => row.code));
};

/** Removes a listing from the plan. SQL refuses the other records of this batch that refer to it. */
const drop = (plan: Plan, listing: Listing, codes: readonly string[]): void => {
  const list = listOf(plan, listing.kind);
  list.splice(list.indexOf(listing), 1);
  plan.faults.push({ line: listing.line, reason: `the vanity code ${codes[0] ?? ''} is taken` });
};

const assignIncarnations = async (sql: Transaction, plan: Plan, known: Known): Promise<void> => {
  const listings = [...plan.teams, ...plan.servers, ...plan.bots, ...plan.packs];
  if (listings.length === 0) return;
  listings.sort((a, b) => a.line - b.line);
  const rows = await sql<{ incarnation: number }[]>`
    select nextval('incarnations') as incarnation from generate_series(1, ${listings.length}::int)`;
  const incarnations = rows.map((row) => row.incarnation).sort((a, b) => a - b);
  listings.forEach((listing, index) => {
    listing.incarnation = incarnations[index] ?? 0;
    known.incarnations.set(keyOf(listing.kind, listing.id), listing.incarnation);
  });
};
