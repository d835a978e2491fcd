/**
 * One of two nodes is cut off from Postgres, and from nothing else: its packets vanish, or each of its
 * connections is reset at the first answer. It goes on counting, learns of tokens that are revoked and edits
 * that are made at the other node, and its votes reach SQL through that one.
 *
 * Every cut looks at that in the same way; times are measured, and bounded only by what a busy machine
 * takes. Time limit: 900 s.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nowMs } from '../../../bench/prove/client-log.ts';
import type { Answer } from '../../../bench/shared/http-client.ts';
import type { CutProxy } from '../../support/cut-proxy.ts';
import { tokenOf } from '../../support/directory.ts';
import { until } from '../../support/until.ts';
import { faultCase } from '../harness/fault-case.ts';
import { addRuns, type Figures } from '../harness/figures.ts';
import { onServers } from '../harness/on-servers.ts';
import { operate } from '../harness/operate.ts';
import { type Life, outsider, type Stack } from '../harness/stack.ts';
import { acknowledged, silenceSeconds, underLoad, voteForOutsider } from '../harness/waits.ts';

const test = suite('one node without its SQL');

interface CutFigures extends Figures {
  readonly silenceSecondsMax: number;
  /** Until the node that is cut off refused a token that was revoked at the other. */
  readonly revokedSecondsMax: number;
  /** Until it refused votes as an operator decided at the other, and showed the old page no more. */
  readonly editedSecondsMax: number;
  /** Until the other node showed a post that it acknowledged. */
  readonly seenSecondsMax: number;
  /** Until a vote that it acknowledged had its row. */
  readonly flushedSecondsMax: number;
}

interface World {
  readonly stack: Stack;
  readonly proxy: CutProxy;
  /** Behind the proxy. */
  readonly cutOff: Life;
  readonly other: Life;
  /** Numbers users of the test's own votes. */
  next: number;
}

/** Cuts, and returns what joins again. */
type Cut = (proxy: CutProxy) => () => void;

const vanish: Cut = (proxy) => {
  proxy.silence();
  return () => proxy.restore();
};

const reset: Cut = (proxy) => {
  proxy.tear(1);
  proxy.cut();
  return () => proxy.tear(0);
};

/** A second is promised; a machine this busy gets more. */
const visibleMsMax = 5_000;
/** A silent node is missed after 8 s; nodes look every 2. The figures say how long it took. */
const takenOverMs = 90_000;

const runSqlCuts = (seed: number, cuts: readonly Cut[]): Promise<CutFigures> =>
  onServers({ seed, nodes: 1 }, async ({ stack, postgresProxy: proxy, slowDatabaseUrl }) => {
    const cutOff = await stack.open({ settings: { DATABASE_URL: slowDatabaseUrl } });
    const world: World = { stack, proxy, cutOff, other: stack.lives[0] as Life, next: 0 };
    const times = await underLoad(stack, 12, async () => {
      await acknowledged(stack.log, 300);
      return addRuns(cuts, async (cut) => {
        const one = await cutOnce(world, cut);
        await acknowledged(stack.log, 50);
        return one;
      });
    });
    return { ...(await stack.judge({ rounds: cuts.length })), ...times };
  });

type Times = Omit<CutFigures, keyof Figures>;

const cutOnce = async (world: World, cut: Cut): Promise<Times> => {
  const { stack, proxy, cutOff } = world;
  const token = await knownToken(world);
  // So that it knows the bot, its page and its token.
  assert.is((await post(world, 1)).status, 200);
  await pageOf(world);
  const fromMs = nowMs();
  const join = cut(proxy);
  try {
    await until('it misses Postgres', async () => (await ready(stack, cutOff)).includes('Postgres is away'));
    const counted = { fromMs: nowMs(), acked: ackedAt(stack, cutOff) };
    const seenSecondsMax = await seen(world);
    const flushedSecondsMax = await flushed(world);
    const revokedSecondsMax = await revoked(world, token);
    const editedSecondsMax = await edited(world);
    await sleep(2_000);
    assert.ok(ackedAt(stack, cutOff) > counted.acked + 20, 'it goes on counting');
    const silenceSecondsMax = silenceSeconds(stack.log, { fromMs, toMs: nowMs() });
    join();
    await assertJoined(world, token);
    return { silenceSecondsMax, seenSecondsMax, flushedSecondsMax, revokedSecondsMax, editedSecondsMax };
  } finally {
    join();
  }
};

const ackedAt = ({ log }: Stack, { life }: Life): number =>
  [...log.stats, ...log.votes].filter((op) => op.life === life && op.outcome === 'ok').length;

const ready = async ({ client }: Stack, { node }: Life): Promise<string> =>
  (await client.ask(`${node.adminUrl}/readyz`)).text;

/** Seconds until it holds. */
const timed = async (what: string, holds: () => Promise<boolean>, msMax = visibleMsMax): Promise<number> => {
  const fromMs = performance.now();
  await until(what, holds, msMax);
  return (performance.now() - fromMs) / 1_000;
};

/* ----------------------------------------------------------- what is seen */

const post = ({ stack, cutOff }: World, servers: number): Promise<Answer> =>
  stack.client.ask(`${cutOff.node.url}/bots/stats`, {
    method: 'POST',
    headers: { 'Bot-Auth': tokenOf('bot', outsider), 'Content-Type': 'application/json' },
    body: `{"servers":${servers}}`,
  });

/** A post acknowledged by the node that is cut off: there at once, at the other soon. */
const seen = async (world: World): Promise<number> => {
  const { stack, cutOff, other } = world;
  const servers = 1_000_000 + world.next;
  const posted = await post(world, servers);
  assert.is(posted.status, 200, posted.text);
  const shows = async ({ node }: Life): Promise<boolean> =>
    (await stack.client.ask(`${node.url}/bots/${outsider}`)).text.includes(`"servers":${servers}`);
  assert.ok(await shows(cutOff), 'visible at once where it was acknowledged');
  return timed('visible at the other node', () => shows(other));
};

/** The next user, with a token that the load has made known everywhere. */
const nextVoter = (world: World): { user: string; token: string } => {
  const { users } = world.stack.directory;
  const user = users[world.next++ % users.length] ?? '';
  return { user, token: tokenOf('user', user) };
};

/** A vote acknowledged by the node that is cut off gets its row: the other node flushes for it. */
const flushed = async (world: World): Promise<number> => {
  const { sql } = world.stack.stores;
  const rows = async (): Promise<number> =>
    (await sql`select from votes where target_id = ${outsider} and vote_num = 0`).length;
  const before = await rows();
  const votes = async () =>
    (await voteForOutsider(world.stack, world.cutOff, nextVoter(world))).status === 204;
  await until('a vote is taken', votes);
  return timed('the vote has its row', async () => (await rows()) > before, takenOverMs);
};

/* -------------------------------------------------------------- decisions */

interface Issued {
  readonly user: string;
  readonly session: string;
  readonly token: string;
}

/** A new token of a user that the node knows before it is cut off. */
const knownToken = async (world: World): Promise<Issued> => {
  const { stack, cutOff, other } = world;
  const [user = ''] = stack.directory.users.slice(-1);
  const answer = await operate(stack, other, { method: 'POST', path: `/user/${user}/tokens`, body: {} });
  assert.is(answer.status, 201, answer.text);
  const issued = JSON.parse(answer.text) as { session_id: string; token: string };
  const known = { user, session: issued.session_id, token: issued.token };
  await until('the token works', async () => isGood(await voteForOutsider(world.stack, cutOff, known)));
  return known;
};

/** Let in: it counts, or an earlier vote or an operator holds it back. */
const isGood = ({ status, text }: Answer): boolean =>
  [204, 429].includes(status) || text.includes('entity_vote_banned');

/** Revoked at the other node: it never works again here. */
const revoked = async (world: World, known: Issued): Promise<number> => {
  const { stack, cutOff, other } = world;
  assert.ok(isGood(await voteForOutsider(world.stack, cutOff, known)), 'tokens that it knew stay good');
  const path = `/user/${known.user}/tokens/${known.session}`;
  assert.is((await operate(stack, other, { method: 'DELETE', path })).status, 200);
  const refuses = async (): Promise<boolean> =>
    [401, 503].includes((await voteForOutsider(world.stack, cutOff, known)).status);
  const seconds = await timed('the token is refused', refuses);
  for (let look = 0; look < 20; look++) assert.ok(await refuses(), 'refused for good');
  return seconds;
};

const short = 'What the other node wrote about this bot while this one could not read it in SQL.';

const pageOf = ({ stack, cutOff }: World): Promise<Answer> =>
  stack.client.ask(`${cutOff.node.url}/bots/${outsider}`);

/** Votes are forbidden and the words changed at the other node; and then both are undone. */
const edited = async (world: World): Promise<number> => {
  const { stack, cutOff, other } = world;
  const path = `/bot/${outsider}/vote-ban`;
  const before = (await pageOf(world)).text;
  const words = `${short} ${world.next}`;
  const changed = await stack.client.ask(`${other.node.url}/bots/${outsider}/settings`, {
    method: 'PATCH',
    headers: { 'Bot-Auth': tokenOf('bot', outsider), 'Content-Type': 'application/json' },
    body: JSON.stringify({ short: words }),
  });
  assert.is(changed.status, 204, changed.text);
  const shownSeconds = await timed('the old page is shown no more', async () => {
    const { status, text } = await pageOf(world);
    return status === 503 || (status === 200 && text.includes(words));
  });
  assert.not.match(before, words);
  assert.is((await operate(stack, other, { method: 'PUT', path })).status, 200);
  const banned = await timed('votes are refused', async () =>
    (await voteForOutsider(world.stack, cutOff, nextVoter(world))).text.includes('entity_vote_banned'),
  );
  assert.is((await operate(stack, other, { method: 'DELETE', path })).status, 200);
  const lifted = await timed('votes are taken again', async () =>
    [204, 429].includes((await voteForOutsider(world.stack, cutOff, nextVoter(world))).status),
  );
  return Math.max(shownSeconds, banned, lifted);
};

/** Joined again: it says so, shows the new words, and the token is still refused. */
const assertJoined = async (world: World, known: Issued): Promise<void> => {
  const { stack, cutOff } = world;
  await until(
    'Postgres is there again',
    async () => !(await ready(stack, cutOff)).includes('Postgres is away'),
  );
  await until('the new words are shown', async () => (await pageOf(world)).text.includes(short));
  await until(
    'the token is unknown',
    async () => (await voteForOutsider(world.stack, cutOff, known)).status === 401,
  );
};

faultCase(test, {
  title: 'it counts, its votes reach SQL, and what is revoked or edited elsewhere is so here',
  name: 'one of two nodes cut off from Postgres',
  run: ({ seed }) => runSqlCuts(seed, [vanish, reset]),
});

test.run();
