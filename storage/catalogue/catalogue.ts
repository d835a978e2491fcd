/**
 * The catalogue: everything people edit, with its truth in SQL. One file per resource beside this one.
 *
 * This file only gathers their functions into the object that handlers get, puts the two caches in front of
 * the hot reads, and turns every failure into a `StorageError`. It decides nothing.
 */
import type { EntityKind, EntityRef } from '../../engine/ids.ts';
import { redeemVotes } from '../ledger/redeem.ts';
import type { Sql } from '../sql/client.ts';
import { asStorage } from '../sql/errors.ts';
import { createTurns } from '../sql/turns.ts';
import { type Applications, createApplications } from './applications.ts';
import { type Blog, createBlog } from './blog.ts';
import { type BotEdits, createBotEdits } from './bot-edits.ts';
import { type BotIds, type BotPerson, findKnownBot, type KnownBot, noteLookup } from './bot-people.ts';
import { type BotProfile, findBot, findBots } from './bots.ts';
import { createRowCache, createSnapshots, type Listing, type RowCache, type Snapshots } from './cache.ts';
import {
  type CreditKind,
  type CreditStanding,
  listTiers,
  type RedeemOutcome,
  type RedeemRequest,
  type Redeems,
  readRedeems,
  readStanding,
  type TierRow,
} from './credits.ts';
import { type FrontPage, readFrontPage } from './front-page.ts';
import type { IndexBotRow, IndexServerRow } from './index-rows.ts';
import { createLists, type Lists } from './lists.ts';
import { createLogins, type Logins } from './logins.ts';
import { createOperatorSide, type OperatorSide } from './operator-side.ts';
import { createPackEdits, type PackEdits } from './pack-edits.ts';
import { findPack, findPackSummary, type PackPage, type PackSummary } from './packs.ts';
import { type EntityStanding, permissionsOn } from './permissions.ts';
import { createPushBox, type PushBox } from './push.ts';
import { createReminders, type Reminders } from './reminders.ts';
import { findServer, findServers, type ServerProfile } from './servers.ts';
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
} from './sessions.ts';
import { createShop, type Shop } from './shop.ts';
import { createTeamEdits, type TeamEdits } from './team-edits.ts';
import { createTeamMembers, type TeamMembers } from './team-members.ts';
import {
  findTeam,
  findTeamIdByName,
  readHoldings,
  type TeamHoldings,
  type TeamProfile,
  type TeamWishes,
} from './teams.ts';
import {
  createLookUp,
  createUnknownNames,
  forgetOnCommit,
  namesOfKind,
  type UnknownNames,
} from './unknown.ts';
import { createVanities, type Vanities } from './vanity.ts';
import { createVoterOrders } from './voter-order.ts';
import {
  countVotes,
  eachVoters,
  listVotes,
  type VotePair,
  type VoteRow,
  validVotes,
  voterStepsAtOnceMax,
} from './votes.ts';

export type { Listing };
/** At once when cached, else after a query. */
export type Soon<Value> = Value | Promise<Value>;
export interface Profiles<Row> {
  /** By id or vanity code; `null` when there is none. The same object until it is dropped. */
  profile(word: string): Soon<Row | null>;
  /** Forgets what is cached about this id. Call after an edit or a deletion is committed. */
  drop(id: string): void;
  /** Everything is old from here on: edits of other nodes may have been missed. */
  doubtAll(): void;
}

export interface Catalogue {
  readonly sql: Sql;
  readonly bots: Profiles<BotProfile> & {
    page(page: number): Promise<Listing<readonly IndexBotRow[]>>;
    random(wanted: number): Promise<readonly IndexBotRow[]>;
    frontPage(): Promise<FrontPage>;
    readonly edits: BotEdits;
    /** What the directory itself knows of an application's bot. */
    known(ids: BotIds): Promise<KnownBot | null>;
    /** Keeps what a look-up told of a listed bot. False when it is not listed, or a later one is kept. */
    noteLookup(ids: BotIds, person: BotPerson): Promise<boolean>;
  };
  readonly servers: Profiles<ServerProfile> & {
    page(page: number): Promise<Listing<readonly IndexServerRow[]>>;
  };
  readonly teams: Profiles<TeamProfile> & {
    holdings(teamId: string, wishes: TeamWishes): Promise<TeamHoldings>;
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
    page(page: number): Promise<Listing<PackPage>>;
  };
  readonly vanity: Vanities;
  readonly reminders: Reminders;
  readonly push: PushBox;
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
    page(pair: VotePair, page: number): Promise<Listing<readonly VoteRow[]>>;
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
    ): Promise<CreditStanding>;
    redeems(ref: EntityRef): Promise<Redeems>;
    /** Ledger when it resolves; the caller has flushed before and delivers afterwards. */
    redeem(request: RedeemRequest): Promise<RedeemOutcome>;
  };
  readonly shop: Shop;
  /** What only operators do. */
  readonly operator: OperatorSide;
  /** What a user holds on an entity; `null` when there is no such entity. Never cached. */
  permissionsOn(kind: EntityKind, id: string, userId: string): Promise<EntityStanding | null>;
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

const profilesOf = <Row extends { id: string; vanity: string; weightBytes: number }>(
  cache: RowCache<Row>,
  find: (word: string) => Promise<Row | null>,
): Profiles<Row> => ({
  profile: (word) => cache.get(word, () => asStorage('catalogue.find', () => find(word))),
  drop: (id) => cache.drop(id),
  doubtAll: () => cache.doubtAll(),
});

const readingMany =
  <Row>(find: (ids: readonly string[]) => Promise<readonly Row[]>) =>
  (ids: readonly string[]): Promise<readonly Row[]> =>
    asStorage('catalogue.find', () => find(ids));

const createBots = (
  sql: Sql,
  cache: RowCache<BotProfile>,
  { lists, snapshots }: { readonly lists: Lists; readonly snapshots: Snapshots },
): Catalogue['bots'] => {
  return {
    ...profilesOf(cache, (word) => findBot(sql, word)),
    page: lists.bots,
    random: lists.randomBots,
    frontPage: () => snapshots.get('bots index', () => asStorage('bots.index', () => readFrontPage(sql))),
    edits: createBotEdits(sql),
    known: (ids) => asStorage('bots.known', () => findKnownBot(sql, ids)),
    noteLookup: (ids, person) => asStorage('bots.noteLookup', () => noteLookup(sql, ids, person)),
  };
};

const createServers = (sql: Sql, cache: RowCache<ServerProfile>, lists: Lists): Catalogue['servers'] => ({
  ...profilesOf(cache, (word) => findServer(sql, word)),
  page: lists.servers,
});

const createTeams = (sql: Sql, cache: RowCache<TeamProfile>): Catalogue['teams'] => ({
  ...profilesOf(cache, (word) => findTeam(sql, word)),
  holdings: (teamId, wishes) => asStorage('teams.holdings', () => readHoldings(sql, teamId, wishes)),
  idByName: (name) => asStorage('teams.idByName', () => findTeamIdByName(sql, name)),
  edits: createTeamEdits(sql),
  members: createTeamMembers(sql),
});

const noPacks: PackPage = { packs: [], bots: new Map(), servers: new Map() };

const createPacks = (sql: Sql, lists: Lists, unknown: UnknownNames): Catalogue['packs'] => ({
  find: createLookUp(namesOfKind(unknown, 'pack'), {
    none: noPacks,
    isNone: ({ packs }) => packs.length === 0,
    load: (url) => asStorage('packs.find', () => findPack(sql, url)),
  }),
  summary: (word) => asStorage('packs.summary', () => findPackSummary(sql, word)),
  edits: createPackEdits(sql),
  page: lists.packs,
});

const createSessions = (sql: Sql): Catalogue['sessions'] => ({
  list: (target) => asStorage('sessions.list', () => listSessions(sql, target)),
  byTokenHash: (hash) => asStorage('sessions.byTokenHash', () => findSessionOfToken(sql, hash)),
  insert: (session, apiSessionsMax) =>
    asStorage('sessions.insert', () => insertSession(sql, session, apiSessionsMax)),
  remove: (target, sessionId) => asStorage('sessions.remove', () => deleteSession(sql, target, sessionId)),
});

const createVotes = (sql: Sql): Catalogue['votes'] => {
  const turns = createTurns(voterStepsAtOnceMax);
  const orders = createVoterOrders(sql);
  return {
    valid: (pair) => asStorage('votes.valid', () => validVotes(sql, pair)),
    page: (pair, page) =>
      asStorage('votes.page', async () => ({
        count: await countVotes(sql, pair),
        rows: await listVotes(sql, pair, page),
      })),
    voters: (ref, page) => asStorage('votes.voters', () => orders.page(ref, page)),
    eachVoters: (ref) => eachVoters(sql, ref, turns),
  };
};

const createCredits = (sql: Sql): Catalogue['credits'] => ({
  tiers: (kind) => asStorage('credits.tiers', () => listTiers(sql, kind)),
  standing: (target, heard) => asStorage('credits.standing', () => readStanding(sql, target, heard)),
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
        unknown: namesOfKind(unknown, 'bot'),
        readMany: readingMany((ids) => findBots(sql, ids)),
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
        unknown: namesOfKind(unknown, 'server'),
        readMany: readingMany((ids) => findServers(sql, ids)),
      }),
      lists,
    ),
    teams: createTeams(sql, createRowCache({ ...cacheBound, unknown: namesOfKind(unknown, 'team') })),
    packs: createPacks(sql, lists, unknown),
    vanity: createVanities(sql, unknown),
    reminders: createReminders(sql),
    push: createPushBox(sql),
    sessions: createSessions(sql),
    logins: createLogins(sql),
    applications: createApplications(sql, snapshots),
    blog: createBlog(sql, snapshots),
    votes: createVotes(sql),
    credits: createCredits(sql),
    shop: createShop(sql, snapshots),
    operator: createOperatorSide(sql),
    permissionsOn: (kind, id, userId) =>
      asStorage('catalogue.permissionsOn', () => permissionsOn(sql, { kind, id }, userId)),
  };
};
