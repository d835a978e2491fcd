/**
 * The catalogue: everything that people edit. SQL is its source of truth; each resource has a file of its
 * own.
 *
 * This file only combines their functions into the object that handlers use, puts the two caches in front of
 * frequent reads, and turns every failure into a `StorageError`.
 */
import type { EntityKind, EntityRef } from '../../engine/ids.ts';
import type { Sql } from '../sql/client.ts';
import { asStorage } from '../sql/errors.ts';
import { createSemaphore } from '../sql/semaphore.ts';
import { type BotEdits, createBotEdits } from './bots/bot-edits.ts';
import { type BotIds, type BotPerson, findKnownBot, type KnownBot, noteLookup } from './bots/bot-people.ts';
import { type BotProfile, findBots } from './bots/bots.ts';
import { type Applications, createApplications } from './content/applications.ts';
import { type Blog, createBlog } from './content/blog.ts';
import { createShop, type Shop } from './content/shop.ts';
import { type FrontPage, readFrontPage } from './lists/front-page.ts';
import { createLists, type Lists } from './lists/lists.ts';
import { findServers, type ServerProfile } from './lists/servers.ts';
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
  findTeamIdByName,
  findTeams,
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
import { type LogHead, type LogRow, readLog, readLogHead, readLogHeads } from './votes/vote-log.ts';
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

import { createWebhooks, type WebhookCatalogue } from './webhooks/webhooks.ts';

export type { CachedList as Listing };
/** Synchronous when cached, else a promise of the query's result. */
export type MaybePromise<Value> = Value | Promise<Value>;
export interface Profiles<Row> {
  /**
   * Finds by id or vanity code; `null` when there is none. The same object as long as the row is unchanged.
   */
  find(idOrVanity: string): MaybePromise<Row | null>;
  /** Removes the row with this id from the cache. Call after an edit or a deletion is committed. */
  drop(id: string): void;
  /** Treats every cached row as expired: edits of other nodes may have been missed. */
  invalidateAll(): void;
}

export interface Catalogue {
  readonly sql: Sql;
  readonly bots: Profiles<BotProfile> & {
    page(page: number): Promise<CachedList<readonly IndexBotRow[]>>;
    random(rowsMax: number): Promise<readonly IndexBotRow[]>;
    frontPage(): Promise<FrontPage>;
    readonly edits: BotEdits;
    /** Reads what the directory knows about the bot of an application. */
    known(ids: BotIds): Promise<KnownBot | null>;
    /** Stores a lookup. False when the bot is unknown or a later lookup is stored. */
    noteLookup(ids: BotIds, person: BotPerson): Promise<boolean>;
  };
  readonly servers: Profiles<ServerProfile> & {
    page(page: number): Promise<CachedList<readonly IndexServerRow[]>>;
  };
  readonly teams: Profiles<TeamProfile> & {
    holdings(teamId: string, selection: TeamSelection): Promise<TeamHoldings>;
    /** The id of the oldest team with this name, in any letter case; `null` when there is none. */
    idByName(name: string): Promise<string | null>;
    readonly edits: TeamEdits;
    readonly members: TeamMembers;
  };
  readonly packs: {
    find(url: string): Promise<PackPage>;
    /** Finds by url, else by name. */
    summary(urlOrName: string): Promise<PackSummary | null>;
    readonly edits: PackEdits;
    page(page: number): Promise<CachedList<PackPage>>;
  };
  readonly vanity: Vanities;
  readonly reminders: Reminders;
  readonly push: PushOutbox;
  readonly sessions: {
    list(target: SessionTarget): Promise<readonly SessionRow[]>;
    /** Finds the session of a token for authentication, expired or not. */
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
  readonly voteLog: {
    /** `null` when the listing is deleted. */
    head(ref: EntityRef): Promise<LogHead | null>;
    /** Votes above `after`, in ascending order. */
    page(
      ref: EntityRef,
      range: { readonly after: number; readonly limit: number },
    ): Promise<readonly LogRow[]>;
    /** The newest numbers by incarnation. */
    heads(incarnations: readonly number[]): Promise<ReadonlyMap<number, number>>;
  };
  readonly webhooks: WebhookCatalogue;
  readonly credits: {
    /** In ascending order; tiers of all kinds when `kind` is `null`. */
    tiers(kind: CreditKind | null): Promise<readonly TierRow[]>;
    /** `appliedSequence` is the last adjustment that the caller's totals contain. */
    balance(
      target: { readonly ref: EntityRef; readonly kind: CreditKind },
      appliedSequence: number,
    ): Promise<RedeemBalance>;
    redeems(ref: EntityRef): Promise<Redeems>;
    /** Ledger when it resolves. The caller flushes before and delivers the adjustment afterwards. */
    redeem(request: RedeemRequest): Promise<RedeemOutcome>;
  };
  readonly shop: Shop;
  /** For the operator's handlers only. */
  readonly operator: OperatorCatalogue;
  /** A user's access to an entity; `null` when there is no such entity. Never cached. */
  findAccess(kind: EntityKind, id: string, userId: string): Promise<EntityAccess | null>;
}

export interface CatalogueOptions {
  /** Memory for cached profiles of one kind, bytes. */
  readonly profileBytesMax?: number;
  /** Cached profiles expire after this, in case a notification of an edit was lost. */
  readonly profileAgeMaxMs?: number;
  /** Maximum age of a list. */
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
): Profiles<Row> => ({
  find: cache.get,
  drop: (id) => cache.drop(id),
  invalidateAll: () => cache.invalidateAll(),
});

const createBatchReader =
  <Row>(find: (names: readonly string[]) => Promise<readonly Row[]>) =>
  (names: readonly string[]): Promise<readonly Row[]> =>
    asStorage('catalogue.find', () => find(names));

const createBots = (
  sql: Sql,
  cache: RowCache<BotProfile>,
  { lists, snapshots }: { readonly lists: Lists; readonly snapshots: Snapshots },
): Catalogue['bots'] => {
  return {
    ...createProfiles(cache),
    page: lists.readBots,
    random: lists.readRandomBots,
    frontPage: () => snapshots.get('bots index', () => asStorage('bots.index', () => readFrontPage(sql))),
    edits: createBotEdits(sql),
    known: (ids) => asStorage('bots.known', () => findKnownBot(sql, ids)),
    noteLookup: (ids, person) => asStorage('bots.noteLookup', () => noteLookup(sql, ids, person)),
  };
};

const createServers = (cache: RowCache<ServerProfile>, lists: Lists): Catalogue['servers'] => ({
  ...createProfiles(cache),
  page: lists.readServers,
});

const createTeams = (sql: Sql, cache: RowCache<TeamProfile>): Catalogue['teams'] => ({
  ...createProfiles(cache),
  holdings: (teamId, selection) => asStorage('teams.holdings', () => readHoldings(sql, teamId, selection)),
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
  summary: (urlOrName) => asStorage('packs.summary', () => findPackSummary(sql, urlOrName)),
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
  const semaphore = createSemaphore(voterStepsAtOnceMax);
  const orders = createVoterOrders(sql);
  return {
    valid: (pair) => asStorage('votes.valid', () => listValidVotes(sql, pair)),
    page: (pair, page) =>
      asStorage('votes.page', async () => ({
        count: await countVotes(sql, pair),
        rows: await listVotes(sql, pair, page),
      })),
    voters: (ref, page) => asStorage('votes.voters', () => orders.page(ref, page)),
    eachVoters: (ref) => streamVoters(sql, ref, semaphore),
  };
};

const createVoteLog = (sql: Sql): Catalogue['voteLog'] => ({
  head: (ref) => asStorage('votes.logHead', () => readLogHead(sql, ref)),
  page: (ref, range) => asStorage('votes.log', () => readLog(sql, ref, range)),
  heads: (incarnations) => asStorage('votes.logHeads', () => readLogHeads(sql, incarnations)),
});

const createCredits = (sql: Sql): Catalogue['credits'] => ({
  tiers: (kind) => asStorage('credits.tiers', () => listTiers(sql, kind)),
  balance: (target, appliedSequence) =>
    asStorage('credits.standing', () => readRedeemBalance(sql, target, appliedSequence)),
  redeems: (ref) => asStorage('credits.redeems', () => readRedeems(sql, ref)),
  redeem: (request) => redeemVotes(sql, request),
});

/** Creates the catalogue over one SQL client. It has caches, so a process creates only one. */
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
        readMany: createBatchReader((names) => findBots(sql, names)),
      }),
      {
        lists,
        snapshots,
      },
    ),
    servers: createServers(
      createRowCache({
        ...cacheBound,
        unknown: createNamesOfKind(unknown, 'server'),
        readMany: createBatchReader((names) => findServers(sql, names)),
      }),
      lists,
    ),
    teams: createTeams(
      sql,
      createRowCache({
        ...cacheBound,
        unknown: createNamesOfKind(unknown, 'team'),
        readMany: createBatchReader((names) => findTeams(sql, names)),
      }),
    ),
    packs: createPacks(sql, lists, unknown),
    vanity: createVanities(sql, unknown),
    reminders: createReminders(sql),
    push: createPushOutbox(sql),
    sessions: createSessions(sql),
    logins: createLogins(sql),
    applications: createApplications(sql, snapshots),
    blog: createBlog(sql, snapshots),
    votes: createVotes(sql),
    voteLog: createVoteLog(sql),
    webhooks: createWebhooks(sql),
    credits: createCredits(sql),
    shop: createShop(sql, snapshots),
    operator: createOperatorCatalogue(sql),
    findAccess: (kind, id, userId) =>
      asStorage('catalogue.permissionsOn', () => findAccess(sql, { kind, id }, userId)),
  };
};
