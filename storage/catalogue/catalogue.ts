/**
 * The catalogue: everything that people edit. SQL is its source of truth; each resource has a file of its
 * own.
 *
 * This file only combines their functions into the object that handlers use, puts the caches of
 * shared/cache.ts in front of frequent reads, and turns every failure into a `StorageError`.
 */
import { getHeapStatistics } from 'node:v8';
import type { EntityKind } from '../../engine/ids.ts';
import { createHistory } from '../history/read.ts';
import type { Sql } from '../sql/client.ts';
import { asStorage, bindStorage } from '../sql/errors.ts';
import { createBoards } from './boards/boards.ts';
import type { CheckRules } from './boards/uptime.ts';
import { createBotEdits } from './bots/bot-edits.ts';
import { findKnownBot, noteLookup } from './bots/bot-people.ts';
import { createApplications } from './content/applications.ts';
import { createBlog } from './content/blog.ts';
import { createShop } from './content/shop.ts';
import { readFrontPage } from './lists/front-page.ts';
import { createLists, type Lists } from './lists/lists.ts';
import { createSearch } from './lists/search.ts';
import { createSitemap } from './lists/sitemap.ts';
import { createOperatorCatalogue } from './operator/operator-catalogue.ts';
import { createPackEdits } from './packs/pack-edits.ts';
import { findPack, findPackSummary, type PackPage } from './packs/packs.ts';
import { createLogins } from './people/logins.ts';
import { createSessions } from './people/sessions.ts';
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
import { type BotProfile, findBots, findServers } from './shared/profiles.ts';
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
import { createCredits } from './votes/credits.ts';
import { createPushOutbox } from './votes/push.ts';
import { createReminders } from './votes/reminders.ts';
import { createVoteLog } from './votes/vote-log.ts';
import { createVoters } from './votes/voters.ts';
import { createVotes } from './votes/votes.ts';
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
 * Computes the memory for cached profiles of one kind, bytes: an eighth of what the heap may take, which Node
 * derives from the machine's memory. 100,000 bots with long texts of 800 characters count as 400 MiB.
 */
export const computeProfileBytesMax = (heapBytesMax: number): number =>
  Math.min(512 * mebibyte, Math.max(16 * mebibyte, Math.floor(heapBytesMax / 8)));

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
    servers: { ...createCache('server', findServers), page: lists.readServers },
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
    voters: createVoters(sql),
    voteLog: createVoteLog(sql),
    webhooks: createWebhooks(sql),
    history: createHistory(sql),
    credits: createCredits(sql),
    shop: createShop(sql, snapshots),
    /** For the operator's handlers only. */
    operator: createOperatorCatalogue(sql),
    findPeople: (ids: readonly string[]) => asStorage('people.find', () => findPeople(sql, ids)),
    /** Reads a user's access to an entity; `null` when there is no such entity. Never cached. */
    findAccess: (kind: EntityKind, id: string, userId: string) =>
      asStorage('catalogue.permissionsOn', () => findAccess(sql, { kind, id }, userId)),
  };
};

export type Catalogue = ReturnType<typeof createCatalogue>;
