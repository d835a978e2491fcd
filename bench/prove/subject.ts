/**
 * What `prove` drives: addresses, bots and users with their tokens, which operations the server has, and what
 * it showed before. Everything is judged from there on, so no other client may change these bots meanwhile.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Directory, Holder } from '../scenarios/directory.ts';
import { type Answer, type Client, createClient } from '../shared/http-client.ts';
import { askPatiently } from './patient.ts';
import { readDigits } from './post-body.ts';
import { postAllParts, readParts } from './shards.ts';

/** Operations that not every server has. */
export type Operation = 'shards' | 'log' | 'feed' | 'history' | 'redeems' | 'unique clicks';

export interface SubjectOptions {
  /** While it is driven addresses may come, and go from the end; the first one stays. */
  readonly urls: readonly string[];
  readonly directory: Directory;
  /** How many of the bots are used. */
  readonly bots: number;
  /** How many of those get a webhook; all if absent. */
  readonly webhooks?: number;
  /** Each address is one node: what it showed may never fall. Else a balancer may change the node. */
  readonly isDirect: boolean;
  /** How far the clocks of client and server may be apart. */
  readonly clocksMs: number;
  /** The shortest and the longest wait between two votes; `null`: the server says it. */
  readonly waitMs: WaitRange | null;
  /** Numbers of the first operation: above those of earlier runs on the same bots. */
  readonly firstId: number;
}
export interface WaitRange {
  readonly min: number;
  readonly max: number;
}

export interface Listing extends Holder {
  /** Posts totals, or shards. */
  readonly posts: 'totals' | 'shards';
  readonly base: Base;
}
type Base = Awaited<ReturnType<typeof readBase>>;

export interface Subject extends Omit<SubjectOptions, 'waitMs'> {
  readonly waitMs: WaitRange;
  readonly client: Client;
  readonly listings: readonly Listing[];
  readonly has: ReadonlySet<Operation>;
  /** Voters of before, as `user on bot/id`. */
  readonly voted: ReadonlySet<string>;
}

const connections = 320;
const hourMs = 3_600_000;
/** The wait by default, also of the peers. */
const usualWait = { min: 12 * hourMs, max: 12 * hourMs };

/** Reads until it is served; `null` when the server has no such operation. */
export const read = async (
  { client }: Pick<Subject, 'client'>,
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer | null> => {
  const answer = await askPatiently(client, url, { headers });
  return answer.status === 200 ? answer : null;
};

export const readJson = async <Content>(
  subject: Pick<Subject, 'client'>,
  url: string,
): Promise<Content | null> => {
  const answer = await read(subject, url);
  return answer === null ? null : (JSON.parse(answer.text) as Content);
};

/** The posted numbers of a bot as they stand in its reply. */
export const readPosted = (text: string): string =>
  ['servers', 'shards', 'users', 'shard_list'].map((name) => readDigits(text, name)).join(' ');

/** What the listing showed before. */
const readBase = async (client: Client, url: string, id: string) => {
  const answer = await read({ client }, `${url}/bots/${id}`);
  if (answer === null)
    throw new Error(`${url}/bots/${id} is not there: import the bots of the tokens first.`);
  const bot = JSON.parse(answer.text) as Record<string, number | undefined>;
  const log = await readJson<{ head: string }>({ client }, `${url}/bots/${id}/votes/log`);
  const credits = await readJson<{ redeems: unknown[] }>({ client }, `${url}/bots/${id}/votes/credits`);
  return {
    clicks: bot.clicks ?? 0,
    uniqueClicks: bot.unique_clicks ?? 0,
    votes: bot.votes ?? 0,
    /** The posted numbers, as text. */
    posted: readPosted(answer.text),
    /** Where the vote log was; '' without one. */
    cursor: log?.head ?? '',
    redeems: credits?.redeems.length ?? 0,
  };
};

const wait = async (holds: () => Promise<boolean>): Promise<boolean> => {
  for (let tries = 0; tries < 20; tries++) {
    if (await holds()) return true;
    await sleep(100);
  }
  return false;
};

/** Whether two visitors that a header names count as two. */
const countsVisitors = async (
  client: Client,
  url: string,
  { id, run }: { readonly id: string; readonly run: number },
): Promise<boolean> => {
  const before = await readBase(client, url, id);
  if (!('unique_clicks' in JSON.parse((await read({ client }, `${url}/bots/${id}`))?.text ?? '{}')))
    return false;
  for (const last of [1, 2])
    await read({ client }, `${url}/bots/${id}?target=page`, { 'X-Forwarded-For': toVisitor(run, last) });
  return wait(async () => (await readBase(client, url, id)).uniqueClicks === before.uniqueClicks + 2);
};

/** An address of this run: its first 64 bits tell visitors apart. */
export const toVisitor = (run: number, number: number): string =>
  `2001:db8:${(run & 65_535).toString(16)}:${(number & 65_535).toString(16)}::1`;

const findOperations = async (
  client: Client,
  { urls, firstId, ...options }: SubjectOptions,
): Promise<Set<Operation>> => {
  const has = new Set<Operation>();
  const url = urls[0] as string;
  const bots = options.directory.bots.slice(0, options.bots);
  const { id, token } = bots.at(-1) as Holder;
  if ((await read({ client }, `${url}/bots/${id}/votes/log`)) !== null) has.add('log').add('feed');
  if ((await read({ client }, `${url}/bots/${id}/history?metrics=clicks`)) !== null) has.add('history');
  if (has.has('log') && (await postAllParts(client, url, token))) has.add('shards');
  const tiers = await readJson<readonly { target_type: string }[]>({ client }, `${url}/votes/credit-tiers`);
  if (tiers?.some(({ target_type: type }) => type === 'bot')) has.add('redeems');
  if (await countsVisitors(client, url, { id, run: firstId })) has.add('unique clicks');
  return has;
};

const readWait = async (client: Client, url: string, { bots, users }: Directory): Promise<WaitRange> => {
  const path = `/users/${users[0]?.id}/bots/${bots[0]?.id}/votes`;
  const status = await readJson<{ vote_info: { vote_time: number } }>({ client }, url + path);
  if (status === null) return usualWait;
  const ms = status.vote_info.vote_time * hourMs;
  // It may change at the beginning and the end of a weekend.
  return { min: Math.min(ms, usualWait.min / 3), max: Math.max(ms, usualWait.max) };
};

const listVoters = async (
  client: Client,
  url: string,
  listings: readonly Listing[],
): Promise<Set<string>> => {
  const voted = new Set<string>();
  for (const { id } of listings) {
    const voters = await readJson<readonly string[]>({ client }, `${url}/bots/${id}/votes/user-list`);
    for (const user of voters ?? []) voted.add(`${user} on bot/${id}`);
  }
  return voted;
};

/** Every third bot posts shards, where the server has them; it begins with a post of all. */
const prepareListing = async (
  client: Client,
  url: string,
  { posts, ...bot }: Omit<Listing, 'base'>,
): Promise<Listing> => {
  if (posts === 'shards' && !(await postAllParts(client, url, bot.token)))
    throw new Error(`bot ${bot.id} cannot post shards`);
  const isShown = async (): Promise<boolean> =>
    readParts((await read({ client }, `${url}/bots/${bot.id}`))?.text ?? '')?.every((turn) => turn === 1) ??
    false;
  if (posts === 'shards' && !(await wait(isShown))) throw new Error(`bot ${bot.id} does not show its shards`);
  return { ...bot, posts, base: await readBase(client, url, bot.id) };
};

/** Looks at the server and all its bots. Rejects when it does not answer or lacks the bots. */
export const openSubject = async (options: SubjectOptions): Promise<Subject> => {
  const { urls, directory } = options;
  const [url] = urls as [string];
  const client = createClient(connections);
  const has = await findOperations(client, options);
  const listings: Listing[] = [];
  for (const [index, bot] of directory.bots.slice(0, options.bots).entries()) {
    const posts = has.has('shards') && index % 3 === 2 ? 'shards' : 'totals';
    listings.push(await prepareListing(client, url, { ...bot, posts }));
  }
  const waitMs = options.waitMs ?? (await readWait(client, url, directory));
  const voted = await listVoters(client, url, listings);
  const { users } = directory;
  const hasVoted = ({ id }: Holder): boolean => listings.every((bot) => voted.has(`${id} on bot/${bot.id}`));
  if (users.length > 0 && users.every(hasVoted))
    throw new Error('All users of the tokens file have voted for all bots: make more.');
  return { ...options, waitMs, client, listings, has, voted };
};
