/**
 * The catalogue: everything people edit, with its truth in SQL. One file per resource beside this one.
 *
 * This file only gathers their functions into the object that handlers get, puts the two caches in front of
 * the hot reads, and turns every failure into a `StorageError`. It decides nothing.
 */
import type { EntityKind, EntityRef } from '../../engine/ids.ts';
import type { Sql } from '../sql/client.ts';
import { asStorage } from '../sql/errors.ts';
import { createSemaphore } from '../sql/semaphore.ts';
import { type BotEdits, createBotEdits } from './bots/bot-edits.ts';
import { type BotIds, type BotPerson, findKnownBot, type KnownBot, noteLookup } from './bots/bot-people.ts';
import { type BotProfile, findBot, findBots } from './bots/bots.ts';
import { type Applications, createApplications } from './content/applications.ts';
import { type Blog, createBlog } from './content/blog.ts';
import { createShop, type Shop } from './content/shop.ts';
import { type FrontPage, readFrontPage } from './lists/front-page.ts';
import { createLists, type Lists } from './lists/lists.ts';
import { findServer, findServers, type ServerProfile } from './lists/servers.ts';
import { createOperatorCatalogue, type OperatorCatalogue } from './operator/operator-catalogue.ts';
import { createPackEdits, type PackEdits } from './packs/pack-edits.ts';
import { findPack, findPackSummary, type PackPage, type PackSummary } from './packs/packs.ts';
import { createLogins, type Logins } from './people/logins.ts';
import {
  deleteSession,
  findSessionOfToken,
  insertSession,
  listSessions,
  type NewSession,
  type SessionCreation,
  type SessionOfToken,
  type SessionRow,
  type SessionTarget,
} from './people/sessions.ts';
import {
  type CachedList,
  createRowCache,
  createSnapshots,
  type RowCache,
  type Snapshots,
} from './shared/cache.ts';
import type { IndexBotRow, IndexServerRow } from './shared/index-rows.ts';
import { type EntityAccess, findAccess } from './shared/permissions.ts';
import { createVanities, type Vanities } from './shared/vanity.ts';
import { createTeamEdits, type TeamEdits } from './teams/team-edits.ts';
import { createTeamMembers, type TeamMembers } from './teams/team-members.ts';
import {
  findTeam,
  findTeamIdByName,
  readHoldings,
  type TeamHoldings,
  type TeamProfile,
  type TeamSelection,
} from './teams/teams.ts';
import {
  createLookUp,
  createNamesOfKind,
  createUnknownNames,
  forgetOnCommit,
  type UnknownNames,
} from './unknown.ts';
import {
  type CreditKind,
  listTiers,
  type RedeemBalance,
  type RedeemOutcome,
  type RedeemRequest,
  type Redeems,
  readRedeemBalance,
  readRedeems,
  type TierRow,
} from './votes/credits.ts';
import { createPushOutbox, type PushOutbox } from './votes/push.ts';
import { redeemVotes } from './votes/redeem.ts';
import { createReminders, type Reminders } from './votes/reminders.ts';
import { createVoterOrders } from './votes/voter-order.ts';
import {
  countVotes,
  listValidVotes,
  listVotes,
  streamVoters,
  type VotePair,
  type VoteRow,
  voterStepsAtOnceMax,
} from './votes/votes.ts';

export type { CachedList as Listing };
/** At once when cached, else after a query. */
export type MaybePromise<Value> = Value | Promise<Value>;
export interface Profiles<Row> {
  /** By id or vanity code; `null` when there is none. The same object until it is dropped. */
  find(word: string): MaybePromise<Row | null>;
  /** Forgets what is cached about this id. Call after an edit or a deletion is committed. */
  drop(id: string): void;
  /** Everything is old from here on: edits of other nodes may have been missed. */
  invalidateAll(): void;
}

export interface Catalogue {
  readonly sql: Sql;
  readonly bots: Profiles<BotProfile> & {
    page(page: number): Promise<CachedList<readonly IndexBotRow[]>>;
    random(wanted: number): Promise<readonly IndexBotRow[]>;
    frontPage(): Promise<FrontPage>;
    readonly edits: BotEdits;
    /** What the directory itself knows of an application's bot. */
    known(ids: BotIds): Promise<KnownBot | null>;
    /** Keeps what a look-up told of a listed bot. False when it is not listed, or a later one is kept. */
    noteLookup(ids: BotIds, person: BotPerson): Promise<boolean>;
  };
  readonly servers: Profiles<ServerProfile> & {
    page(page: number): Promise<CachedList<readonly IndexServerRow[]>>;
  };
  readonly teams: Profiles<TeamProfile> & {
    holdings(teamId: string, wishes: TeamSelection): Promise<TeamHoldings>;
    /** The id of the oldest team with this name in any case. */
    idByName(name: string): Promise<string | null>;
    readonly edits: TeamEdits;
    readonly members: TeamMembers;
  };
  readonly packs: {
    find(url: string): Promise<PackPage>;
    /** By url, else by name. */
    summary(word: string): Promise<PackSummary | null>;
    readonly edits: PackEdits;
    page(page: number): Promise<CachedList<PackPage>>;
  };
  readonly vanity: Vanities;
  readonly reminders: Reminders;
  readonly push: PushOutbox;
  readonly sessions: {
    list(target: SessionTarget): Promise<readonly SessionRow[]>;
    /** What authentication asks; also an expired session. */
    byTokenHash(tokenHash: Buffer): Promise<SessionOfToken | null>;
    insert(session: NewSession, apiSessionsMax: number): Promise<SessionCreation>;
    remove(target: SessionTarget, sessionId: string): Promise<boolean>;
  };
  readonly logins: Logins;
  readonly applications: Applications;
  readonly blog: Blog;
  readonly votes: {
    valid(pair: VotePair): Promise<readonly VoteRow[]>;
    page(pair: VotePair, page: number): Promise<CachedList<readonly VoteRow[]>>;
    voters(ref: EntityRef, page: number): Promise<readonly string[]>;
    eachVoters(ref: EntityRef): AsyncIterable<readonly string[]>;
  };
  readonly credits: {
    /** In ascending order; of all kinds when `null`. */
    tiers(kind: CreditKind | null): Promise<readonly TierRow[]>;
    /** `heard` is the last adjustment that the totals at hand contain. */
    standing(
      target: { readonly ref: EntityRef; readonly kind: CreditKind },
      heard: number,
    ): Promise<RedeemBalance>;
    redeems(ref: EntityRef): Promise<Redeems>;
    /** Ledger when it resolves; the caller has flushed before and delivers afterwards. */
    redeem(request: RedeemRequest): Promise<RedeemOutcome>;
  };
  readonly shop: Shop;
  /** What only operators do. */
  readonly operator: OperatorCatalogue;
  /** What a user holds on an entity; `null` when there is no such entity. Never cached. */
  findAccess(kind: EntityKind, id: string, userId: string): Promise<EntityAccess | null>;
}

export interface CatalogueOptions {
  /** Memory for cached profiles of one kind. */
  readonly profileBytesMax?: number;
  /** Profiles are read again after this, also when nobody told us of an edit. */
  readonly profileAgeMaxMs?: number;
  /** A list is at most this old. */
  readonly snapshotAgeMaxMs?: number;
}

const defaults: Required<CatalogueOptions> = {
  profileBytesMax: 64 * 1024 * 1024,
  profileAgeMaxMs: 10_000,
  snapshotAgeMaxMs: 1_000,
};
const snapshotEntriesMax = 512;

const createProfiles = <Row extends { id: string; vanity: string; weightBytes: number }>(
  cache: RowCache<Row>,
  find: (word: string) => Promise<Row | null>,
): Profiles<Row> => ({
  find: (word) => cache.get(word, () => asStorage('catalogue.find', () => find(word))),
  drop: (id) => cache.drop(id),
  invalidateAll: () => cache.invalidateAll(),
});

const createBatchReader =
  <Row>(find: (ids: readonly string[]) => Promise<readonly Row[]>) =>
  (ids: readonly string[]): Promise<readonly Row[]> =>
    asStorage('catalogue.find', () => find(ids));

const createBots = (
  sql: Sql,
  cache: RowCache<BotProfile>,
  { lists, snapshots }: { readonly lists: Lists; readonly snapshots: Snapshots },
): Catalogue['bots'] => {
  return {
    ...createProfiles(cache, (word) => findBot(sql, word)),
    page: lists.readBots,
    random: lists.readRandomBots,
    frontPage: () => snapshots.get('bots index', () => asStorage('bots.index', () => readFrontPage(sql))),
    edits: createBotEdits(sql),
    known: (ids) => asStorage('bots.known', () => findKnownBot(sql, ids)),
    noteLookup: (ids, person) => asStorage('bots.noteLookup', () => noteLookup(sql, ids, person)),
  };
};

const createServers = (sql: Sql, cache: RowCache<ServerProfile>, lists: Lists): Catalogue['servers'] => ({
  ...createProfiles(cache, (word) => findServer(sql, word)),
  page: lists.readServers,
});

const createTeams = (sql: Sql, cache: RowCache<TeamProfile>): Catalogue['teams'] => ({
  ...createProfiles(cache, (word) => findTeam(sql, word)),
  holdings: (teamId, wishes) => asStorage('teams.holdings', () => readHoldings(sql, teamId, wishes)),
  idByName: (name) => asStorage('teams.idByName', () => findTeamIdByName(sql, name)),
  edits: createTeamEdits(sql),
  members: createTeamMembers(sql),
});

const noPacks: PackPage = { packs: [], bots: new Map(), servers: new Map() };

const createPacks = (sql: Sql, lists: Lists, unknown: UnknownNames): Catalogue['packs'] => ({
  find: createLookUp(createNamesOfKind(unknown, 'pack'), {
    none: noPacks,
    isNone: ({ packs }) => packs.length === 0,
    load: (url) => asStorage('packs.find', () => findPack(sql, url)),
  }),
  summary: (word) => asStorage('packs.summary', () => findPackSummary(sql, word)),
  edits: createPackEdits(sql),
  page: lists.readPacks,
});

const createSessions = (sql: Sql): Catalogue['sessions'] => ({
  list: (target) => asStorage('sessions.list', () => listSessions(sql, target)),
  byTokenHash: (hash) => asStorage('sessions.byTokenHash', () => findSessionOfToken(sql, hash)),
  insert: (session, apiSessionsMax) =>
    asStorage('sessions.insert', () => insertSession(sql, session, apiSessionsMax)),
  remove: (target, sessionId) => asStorage('sessions.remove', () => deleteSession(sql, target, sessionId)),
});

const createVotes = (sql: Sql): Catalogue['votes'] => {
  const turns = createSemaphore(voterStepsAtOnceMax);
  const orders = createVoterOrders(sql);
  return {
    valid: (pair) => asStorage('votes.valid', () => listValidVotes(sql, pair)),
    page: (pair, page) =>
      asStorage('votes.page', async () => ({
        count: await countVotes(sql, pair),
        rows: await listVotes(sql, pair, page),
      })),
    voters: (ref, page) => asStorage('votes.voters', () => orders.page(ref, page)),
    eachVoters: (ref) => streamVoters(sql, ref, turns),
  };
};

const createCredits = (sql: Sql): Catalogue['credits'] => ({
  tiers: (kind) => asStorage('credits.tiers', () => listTiers(sql, kind)),
  standing: (target, heard) => asStorage('credits.standing', () => readRedeemBalance(sql, target, heard)),
  redeems: (ref) => asStorage('credits.redeems', () => readRedeems(sql, ref)),
  redeem: (request) => redeemVotes(sql, request),
});

/** The catalogue over one SQL client. Holds caches, so one per process. */
export const createCatalogue = (pool: Sql, options: CatalogueOptions = {}): Catalogue => {
  const unknown = createUnknownNames();
  const sql = forgetOnCommit(pool, unknown);
  const { profileBytesMax, profileAgeMaxMs, snapshotAgeMaxMs } = { ...defaults, ...options };
  const snapshots = createSnapshots({ entriesMax: snapshotEntriesMax, ageMaxMs: snapshotAgeMaxMs });
  const lists = createLists(sql, snapshots, { ageMaxMs: snapshotAgeMaxMs });
  const cacheBound = { bytesMax: profileBytesMax, ageMaxMs: profileAgeMaxMs };
  return {
    sql,
    bots: createBots(
      sql,
      createRowCache({
        ...cacheBound,
        unknown: createNamesOfKind(unknown, 'bot'),
        readMany: createBatchReader((ids) => findBots(sql, ids)),
      }),
      {
        lists,
        snapshots,
      },
    ),
    servers: createServers(
      sql,
      createRowCache({
        ...cacheBound,
        unknown: createNamesOfKind(unknown, 'server'),
        readMany: createBatchReader((ids) => findServers(sql, ids)),
      }),
      lists,
    ),
    teams: createTeams(sql, createRowCache({ ...cacheBound, unknown: createNamesOfKind(unknown, 'team') })),
    packs: createPacks(sql, lists, unknown),
    vanity: createVanities(sql, unknown),
    reminders: createReminders(sql),
    push: createPushOutbox(sql),
    sessions: createSessions(sql),
    logins: createLogins(sql),
    applications: createApplications(sql, snapshots),
    blog: createBlog(sql, snapshots),
    votes: createVotes(sql),
    credits: createCredits(sql),
    shop: createShop(sql, snapshots),
    operator: createOperatorCatalogue(sql),
    findAccess: (kind, id, userId) =>
      asStorage('catalogue.permissionsOn', () => findAccess(sql, { kind, id }, userId)),
  };
};
