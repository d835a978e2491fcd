#!/usr/bin/env node
/**
 * The program of the package: `rollcall-client listen` sends the votes of a listing to a program on one's own
 * machine, as a webhook would, without a public address.
 *
 * It reads the vote log and keeps its cursor and the secret in a file, so it goes on where it was. An event
 * that the receiver does not take is sent again until it does. It runs on Node alone, and is not part of the
 * script that browsers load.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import {
  type Client,
  createClient,
  groupByRequest,
  type LogTarget,
  log,
  type VoteLog,
  type VoteLogResult,
} from './index.ts';

const usage = `Usage: rollcall-client listen --url URL --target bot/ID --forward http://localhost:3000/hook

Sends each vote of a listing to a program on this machine, signed as a webhook of the format \`standard\`.

  --url URL        address of the directory
  --target T       bot/ID, server/ID or team/ID
  --forward URL    where to send the events
  --after A        where to begin the first time: oldest, head (only new votes, the default) or a cursor
  --state FILE     keeps the cursor and the secret; .rollcall-listen.json if absent

Also: --help, --version.

Environment: WEBHOOK_SECRET signs; without it one is made, and printed once, for the file keeps it.
ROLLCALL_TOKEN, if the vote log is not public.
`;

/** What the file keeps of one listing of one directory. */
interface Kept {
  readonly cursor: string;
  readonly secret: string;
}

const readKept = (file: string): Record<string, Kept> => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return {};
    throw error;
  }
};

/** The secret is in it. A process or a machine that ends meanwhile leaves the former file. */
const keep = (file: string, name: string, kept: Kept): void => {
  const text = JSON.stringify({ ...readKept(file), [name]: kept }, null, 2);
  const written = openSync(`${file}.new`, 'w', 0o600);
  try {
    writeFileSync(written, `${text}\n`);
    fsyncSync(written);
  } finally {
    closeSync(written);
  }
  renameSync(`${file}.new`, file);
};

interface Forward {
  readonly client: Client;
  readonly target: LogTarget;
  readonly url: string;
  readonly secret: string;
}

interface Listing {
  readonly votes: number;
  readonly name?: string;
  readonly user?: { readonly display_name: string };
}

/** As the directory sends it; the log has no names of users. */
const buildEvent = async (
  { client, target }: Forward,
  { votes, cursor }: { readonly votes: readonly VoteLogResult[]; readonly cursor: string },
): Promise<object> => {
  const [{ author, created_at, itag, number, upvote, ref, voter }] = votes as [VoteLogResult];
  const path = `/${target.type}s/${target.id}`;
  const listing = await client.request<Listing>('GET', path);
  const status = await client.request<{ vote_info: { vote_time: number } }>(
    'GET',
    `/users/${author}/${target.type}s/${target.id}/votes`,
  );
  const nextVoteMs = Date.parse(created_at) + status.vote_info.vote_time * 3_600_000;
  const data = {
    epoch: cursor.slice(0, cursor.lastIndexOf('.')),
    number,
    itag,
    vote_ids: votes.map((vote) => vote.itag),
    weight: votes.length,
    upvote,
    ref,
    user: { id: author, username: author, display_name: author, avatar: '' },
    voter,
    target: { ...target, name: listing.name ?? listing.user?.display_name ?? target.id },
    votes: listing.votes,
    created_at,
    next_vote_at: new Date(nextVoteMs).toISOString(),
    test: false,
  };
  return { type: 'vote.created', timestamp: created_at, data };
};

/** Sends it once; resolves to what came of it, in words, and whether it was taken. */
const post = async ({ url, secret }: Forward, id: string, body: string) => {
  const seconds = Math.floor(Date.now() / 1_000);
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': `v1,${signature}`,
  };
  const signal = AbortSignal.timeout(10_000);
  try {
    const reply = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal });
    await reply.arrayBuffer();
    return { outcome: String(reply.status), taken: reply.ok };
  } catch (error) {
    const { message, cause } = error as Error & { cause?: { code?: string; message?: string } };
    return { outcome: cause?.code || cause?.message || message, taken: false };
  }
};

const secondsMax = 30;

/** Sends the event of one request to vote until the receiver takes it. */
const forwardVotes = async (
  forward: Forward,
  request: { readonly votes: readonly VoteLogResult[]; readonly cursor: string },
): Promise<void> => {
  const [{ author, created_at, itag, upvote }] = request.votes as [VoteLogResult];
  const body = JSON.stringify(await buildEvent(forward, request));
  for (let seconds = 1; ; seconds = Math.min(secondsMax, seconds * 2)) {
    const { outcome, taken } = await post(forward, itag, body);
    const again = taken ? '' : `, again in ${seconds} s`;
    console.log(`${created_at} vote.created ${author} ${upvote ? 'up' : 'down'} -> ${outcome}${again}`);
    if (taken) return;
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  }
};

const fail = (message: string): never => {
  process.stderr.write(`${message}\n\n${usage}`);
  process.exit(2);
};

const answer = (text: string): never => {
  process.stdout.write(text);
  process.exit(0);
};

const readVersion = (): string =>
  JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8')).version;

const readOptions = () => {
  try {
    const text = { type: 'string' } as const;
    const flag = { type: 'boolean' } as const;
    const places = { url: text, target: text, forward: text, after: text, state: text };
    const options = { ...places, help: { ...flag, short: 'h' }, version: { ...flag, short: 'v' } } as const;
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    if (values.help) return answer(usage);
    if (values.version) return answer(`${readVersion()}\n`);
    if (positionals.join(' ') !== 'listen') return fail('The only command is `listen`.');
    return values;
  } catch (error) {
    return fail((error as Error).message);
  }
};

/** Finds the cursor to begin with. Rejects if the vote log has no such cursor. */
const findStart = async (client: Client, { type, id }: LogTarget, after: string): Promise<string> => {
  const isPlace = after === 'head' || after === 'oldest';
  const query = isPlace ? {} : { after, limit: 1 };
  const page = await client.request<VoteLog>('GET', `/${type}/${id}/votes/log`, { query });
  return isPlace ? page[after] : after;
};

const listen = async (): Promise<void> => {
  const {
    url = '',
    target: name = '',
    forward = '',
    after = 'head',
    state = '.rollcall-listen.json',
  } = readOptions();
  // `localhost:3000` is a URL, too, of the scheme `localhost`.
  const isAddress = (text: string): boolean => URL.canParse(text) && /^https?:/i.test(text);
  if (!isAddress(url) || !isAddress(forward)) fail('Name --url and --forward as URLs.');
  const [, type, id] = /^(bot|server|team)\/([^/]+)$/.exec(name) ?? fail('Name --target as bot/ID.');
  const target = { type, id } as LogTarget;
  const place = new URL(`${url.replace(/\/$/, '')}/${name}`).href;
  const before = readKept(state)[place];
  const made = `whsec_${randomBytes(32).toString('base64')}`;
  const given = process.env.WEBHOOK_SECRET;
  const secret = given || before?.secret || made;
  const token = process.env.ROLLCALL_TOKEN;
  const options = { url, ...(token === undefined ? {} : { token }) };
  const client = createClient(options);
  // Between two pages of the log, too, it waits until the directory answers.
  const patient = createClient({ ...options, attemptsMax: Number.POSITIVE_INFINITY });
  const start = before?.cursor ?? (await findStart(client, target, after));
  keep(state, place, { cursor: start, secret });
  const source = given ? 'WEBHOOK_SECRET' : `the secret in ${state}`;
  console.log(`Events are signed with ${secret === made ? made : source}`);
  console.log(`Listening to ${place} after ${start}`);
  for await (const { votes, cursor } of log(client, target, { after: start, voter: true })) {
    for (const group of groupByRequest(votes.filter((vote) => !vote.void)))
      await forwardVotes({ client: patient, target, url: forward, secret }, { votes: group, cursor });
    keep(state, place, { cursor, secret });
  }
};

await listen().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
