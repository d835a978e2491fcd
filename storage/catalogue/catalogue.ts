/**
 * The catalogue: everything that people edit. SQL is its source of truth; each resource has a file of its
 * own.
 *
 * This file only combines their functions into the object that handlers use, puts the two caches in front of
 * frequent reads, and turns every failure into a `StorageError`.
 */
import { getHeapStatistics } from 'node:v8';
import type { EntityKind, EntityRef } from '../../engine/ids.ts';
import { computeOffset, perPage } from '../../engine/rules/pages.ts';
import { createBatchLoader } from '../../engine/tools/batch-loader.ts';
import { createSemaphore } from '../../engine/tools/semaphore.ts';
import { createHistory } from '../history/read.ts';
import type { Sql } from '../sql/client.ts';
import { asStorage, bindStorage } from '../sql/errors.ts';
import { createBoards } from './boards/boards.ts';
import type { CheckRules } from './boards/uptime.ts';
import { createBotEdits } from './bots/bot-edits.ts';
import { findKnownBot, noteLookup } from './bots/bot-people.ts';
import { type BotProfile, findBots } from './bots/bots.ts';
import { createApplications } from './content/applications.ts';
import { createBlog } from './content/blog.ts';
import { createShop } from './content/shop.ts';
import { readFrontPage } from './lists/front-page.ts';
import { createLists, type Lists } from './lists/lists.ts';
import { createSearch } from './lists/search.ts';
import { findServers, type ServerProfile } from './lists/servers.ts';
import { createSitemap } from './lists/sitemap.ts';
import { createOperatorCatalogue } from './operator/operator-catalogue.ts';
import { createPackEdits } from './packs/pack-edits.ts';
import { findPack, findPackSummary, type PackPage } from './packs/packs.ts';
import { createLogins } from './people/logins.ts';
import {
  deleteSession,
  findSessionsOfTokens,
  insertSession,
  insertSessionOnce,
  listSessions,
  type SessionOfToken,
} from './people/sessions.ts';
import {
  type Cacheable,
  createRowCache,
  createSnapshots,
  type RowCache,
  type Snapshots,
} from './shared/cache.ts';
import { createNotices } from './shared/notices.ts';
import { findPeople } from './shared/people.ts';
import { findAccess } from './shared/permissions.ts';
import { createVanities } from './shared/vanity.ts';
import { createTeamEdits } from './teams/team-edits.ts';
import { createTeamMembers } from './teams/team-members.ts';
import { findTeamIdByName, findTeams, readHoldings, type TeamProfile } from './teams/teams.ts';
import {
  createLookUp,
  createNamesOfKind,
  createUnknownNames,
  forgetOnCommit,
  type UnknownNames,
} from './unknown.ts';
import { listTiers, readRedeemBalance, readRedeems } from './votes/credits.ts';
import { createPushOutbox } from './votes/push.ts';
import { redeemVotes } from './votes/redeem.ts';
import { createReminders } from './votes/reminders.ts';
import { type LogHead, type LogPage, readEachLog, readLogHeads, readLogPages } from './votes/vote-log.ts';
import { createVoterOrders } from './votes/voter-order.ts';
import {
  countVotes,
  listValidVotes,
  listVotes,
  streamVoters,
  type VotePair,
  voterStepsAtOnceMax,
} from './votes/votes.ts';

import { createWebhooks } from './webhooks/webhooks.ts';

export type { Level as HistoryLevel, Metric as HistoryMetric } from '../history/levels.ts';
export type { HistoryRow, HistoryTimes } from '../history/read.ts';
export type { CachedList as Listing, MaybePromise } from './shared/cache.ts';

export interface CatalogueOptions {
  /** Maximum age of a list. */
  readonly snapshotAgeMaxMs?: number;
  /** How uptime is checked: must be the rules of the engine. */
  readonly checkRules?: CheckRules;
}

const mebibyte = 1_048_576;

/**
 * The memory for cached profiles of one kind, bytes: an eighth of what the heap may take, which Node derives
 * from the machine's memory. 100,000 bots with long texts of 800 characters count as 400 MiB.
 */
export const computeProfileBytesMax = (heapBytesMax: number): number =>
  Math.min(512 * mebibyte, Math.max(64 * mebibyte, Math.floor(heapBytesMax / 8)));

const snapshotEntriesMax = 512;

const createBots = (
  sql: Sql,
  cache: RowCache<BotProfile>,
  { lists, snapshots }: { lists: Lists; snapshots: Snapshots },
) => ({
  ...cache,
  page: lists.readBots,
  random: lists.readRandomBots,
  frontPage: () => snapshots.get('bots index', () => asStorage('bots.index', () => readFrontPage(sql))),
  edits: createBotEdits(sql),
  ...bindStorage('bots', sql, { known: findKnownBot, noteLookup }),
});

const createServers = (cache: RowCache<ServerProfile>, lists: Lists) => ({
  ...cache,
  page: lists.readServers,
});

const createTeams = (sql: Sql, cache: RowCache<TeamProfile>) => ({
  ...cache,
  ...bindStorage('teams', sql, { holdings: readHoldings, idByName: findTeamIdByName }),
  edits: createTeamEdits(sql),
  members: createTeamMembers(sql),
});

const noPacks: PackPage = { packs: [], bots: new Map(), servers: new Map() };

const createPacks = (sql: Sql, lists: Lists, unknown: UnknownNames) => ({
  find: createLookUp(createNamesOfKind(unknown, 'pack'), {
    none: noPacks,
    isNone: ({ packs }) => packs.length === 0,
    load: (url) => asStorage('packs.find', () => findPack(sql, url)),
  }),
  ...bindStorage('packs', sql, { summary: findPackSummary }),
  edits: createPackEdits(sql),
  page: lists.readPacks,
});

const tokensPerLookUp = 500;

/**
 * Finds sessions by at most two statements at a time: requests that arrive meanwhile share the next one. Many
 * bots post at the same second, and each look-up of its own costs more than the post.
 */
const createSessionLoader = (sql: Sql): ((hash: Buffer) => Promise<SessionOfToken | null>) =>
  createBatchLoader({
    loadMany: (hashes) => asStorage('sessions.byTokenHash', () => findSessionsOfTokens(sql, hashes)),
    keysMax: tokensPerLookUp,
    batchesMax: 2,
    schedule: (task) => task(),
  });

const createSessions = (sql: Sql) => ({
  ...bindStorage('sessions', sql, {
    list: listSessions,
    insert: insertSession,
    insertOnce: insertSessionOnce,
    remove: deleteSession,
  }),
  /** Finds the session of a token for authentication, expired or not. */
  byTokenHash: createSessionLoader(sql),
});

const createVotes = (sql: Sql) => {
  const semaphore = createSemaphore(voterStepsAtOnceMax);
  const orders = createVoterOrders(sql);
  return {
    valid: (pair: VotePair) => asStorage('votes.valid', () => listValidVotes(sql, pair)),
    page: (pair: VotePair, page: number) =>
      asStorage('votes.page', async () => {
        const count = await countVotes(sql, pair);
        const isPastEnd = computeOffset(page, perPage.userVotes) >= count;
        return { count, rows: isPastEnd ? [] : await listVotes(sql, pair, page) };
      }),
    voters: (ref: EntityRef, page: number) => asStorage('votes.voters', () => orders.page(ref, page)),
    eachVoters: (ref: EntityRef) => streamVoters(sql, ref, semaphore),
  };
};

/** Requests of the vote log that arrive while two statements run share the next one. */
const logsPerLookUp = 1_000;
const pagesPerRead = 50;
const shareLogReads = { batchesMax: 2, schedule: (task: () => void) => task() } as const;

const createVoteLog = (sql: Sql) => ({
  /** Votes above `after`, in ascending order. */
  page: createBatchLoader({
    loadMany: (pages: readonly LogPage[]) => asStorage('votes.log', () => readLogPages(sql, pages)),
    keysMax: pagesPerRead,
    ...shareLogReads,
  }),
  /** The head of one log; `null` if the listing was deleted. */
  head: createBatchLoader({
    loadMany: async (incarnations: readonly number[]): Promise<readonly (LogHead | null)[]> => {
      const heads = await asStorage('votes.logHead', () => readLogHeads(sql, [...new Set(incarnations)]));
      return incarnations.map((incarnation) => heads.get(incarnation) ?? null);
    },
    keysMax: logsPerLookUp,
    ...shareLogReads,
  }),
  ...bindStorage('voteLog', sql, { heads: readLogHeads, each: readEachLog }),
});

const createCredits = (sql: Sql) =>
  bindStorage('credits', sql, {
    tiers: listTiers,
    balance: readRedeemBalance,
    redeems: readRedeems,
    /** The caller flushes before and delivers the adjustment afterwards. */
    redeem: redeemVotes,
  });

/** Creates the catalogue over one SQL client. It has caches, so a process creates only one. */
export const createCatalogue = (pool: Sql, options: CatalogueOptions = {}) => {
  const unknown = createUnknownNames();
  const sql = forgetOnCommit(pool, unknown);
  const { snapshotAgeMaxMs = 1_000, checkRules = { checkMs: 300_000, freshMs: 900_000 } } = options;
  const snapshots = createSnapshots({ entriesMax: snapshotEntriesMax, ageMaxMs: snapshotAgeMaxMs });
  const lists = createLists(sql, snapshots, { ageMaxMs: snapshotAgeMaxMs });
  const notices = createNotices(sql);
  const createCache = <Row extends Cacheable>(
    kind: 'bot' | 'server' | 'team',
    find: (sql: Sql, names: readonly string[]) => Promise<readonly Row[]>,
  ) => {
    const cache = createRowCache({
      bytesMax: computeProfileBytesMax(getHeapStatistics().heap_size_limit),
      ageMaxMs: notices.ageMaxMs,
      notices,
      unknown: createNamesOfKind(unknown, kind),
      readMany: async (names) => {
        const rows = await asStorage('catalogue.find', () => find(sql, names));
        // The driver adds one column after the other, so its rows are hash tables; a copy takes a third less.
        return rows.map((row) => ({ ...row }));
      },
    });
    notices.subscribe((notice) => {
      if (notice.kind === kind) cache.drop(notice.id);
    });
    return cache;
  };
  const boards = createBoards(sql, snapshots, checkRules);
  return {
    sql,
    notices,
    bots: createBots(sql, createCache('bot', findBots), { lists, snapshots }),
    servers: createServers(createCache('server', findServers), lists),
    teams: createTeams(sql, createCache('team', findTeams)),
    packs: createPacks(sql, lists, unknown),
    boards,
    vanity: createVanities(sql, unknown),
    sitemap: createSitemap(sql),
    search: createSearch(sql, snapshots, boards.find),
    reminders: createReminders(sql),
    push: createPushOutbox(sql),
    sessions: createSessions(sql),
    logins: createLogins(sql),
    applications: createApplications(sql, snapshots),
    blog: createBlog(sql, snapshots),
    votes: createVotes(sql),
    voteLog: createVoteLog(sql),
    webhooks: createWebhooks(sql),
    history: createHistory(sql),
    credits: createCredits(sql),
    shop: createShop(sql, snapshots),
    /** For the operator's handlers only. */
    operator: createOperatorCatalogue(sql),
    findPeople: (ids: readonly string[]) => asStorage('people.find', () => findPeople(sql, ids)),
    /** A user's access to an entity; `null` when there is no such entity. Never cached. */
    findAccess: (kind: EntityKind, id: string, userId: string) =>
      asStorage('catalogue.permissionsOn', () => findAccess(sql, { kind, id }, userId)),
  };
};

export type Catalogue = ReturnType<typeof createCatalogue>;
