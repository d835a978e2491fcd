/**
 * From a vote to the message in the browser: a whole node, a push service over TLS, and a clock that the
 * test sets forward.
 *
 * The test starts each run of the job, once or several times in parallel, as on several nodes. Each test has
 * its own browser, so that the answers of the push service to one test do not affect another.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DomainError } from '../../../engine/errors.ts';
import { createReminderJob } from '../../../ops/jobs/jobs.ts';
import { pushLimits } from '../../../ops/jobs/push-messages.ts';
import { resetVotes } from '../../../storage/ledger/adjust.ts';
import { voidVote } from '../../../storage/ledger/void-votes.ts';
import { openWorld } from '../../http/api/world.ts';
import { addBot, addPack, addUser } from '../../storage/catalogue/directory.ts';
import { silentMeters } from '../../support/job-meters.ts';
import { pluck } from '../../support/pluck.ts';
import { type Browser, startPushService } from '../../support/push-service.ts';

const test = suite('reminders');
const hourMs = 3_600_000;
const weekMs = 7 * 24 * hourMs;
const firstTuesdayNoonMs = Date.UTC(1970, 0, 6, 12);
let users = 0;
let pushed: string[] = [];

const service = await startPushService();
const world = await openWorld({ push: { ca: service.ca, resolve: async () => ['127.0.0.1'] } });
await addUser(world.sql, 'robin');
await addUser(world.sql, 'bot1');
for (const bot of ['bot1', 'bot2']) await addBot(world.sql, bot);
await addPack(world.sql, 'pack1');
test.after(async () => {
  await world.close();
  await service.close();
});
test.before.each(async () => {
  service.answer(() => ({ status: 201 }));
  // Each test begins on a Tuesday at noon, so that it ends before the shorter waits of the weekend.
  const sinceMs = (world.clock.nowMs() - firstTuesdayNoonMs) % weekMs;
  world.clock.skip(weekMs - sinceMs);
  await tick();
  pushed = [];
});

const silent = (): void => {};
/** Runs the job once, as every node does each fifteen seconds. */
const tick = async (signal = new AbortController().signal): Promise<void> => {
  const meters = { ...silentMeters, recordPush: (outcome: string) => pushed.push(outcome) };
  const { run } = createReminderJob({ ...world, meters, log: silent });
  await run(signal);
};
/**
 * Runs the job after an edit or a decision about votes. The flusher confirms those at its own time and makes
 * the reminder due again: a check that it overtakes is left to the next run.
 */
const tickAfterChange = async (): Promise<void> => {
  await tick();
  await tick();
};
interface Voter {
  readonly user: string;
  readonly token: string;
  readonly browser: Browser;
}
const subscribe = async ({ user, token }: Omit<Voter, 'browser'>): Promise<Browser> => {
  const browser = service.browser();
  const { endpoint, auth, p256dh } = browser;
  const path = `/users/${user}/notifications`;
  const { status } = await world.ask('POST', path, { token, body: { endpoint, auth, p256dh } });
  assert.is(status, 204);
  return browser;
};
const createVoter = async (): Promise<Voter> => {
  const user = `user${++users}`;
  await addUser(world.sql, user);
  const token = await world.token('user', user, { lastsSeconds: 5 * 365 * 86_400 });
  return { user, token, browser: await subscribe({ user, token }) };
};
/** Votes, and waits until the vote is *ledger*. */
const vote = async ({ user, token }: Voter, target = 'bot/bot1'): Promise<void> => {
  const { status } = await world.ask('PUT', `/users/${user}/${target}/votes?upvote=true`, { token });
  assert.is(status, 204);
  const [kind, id] = target.split('/') as ['bot' | 'pack', string];
  const isFlushed = () => world.engine.waitForFlush(kind, id).then(() => true, isFlushLate);
  while (!(await isFlushed()));
};
/** On a busy machine a flush may take longer than a request waits for it. */
const isFlushLate = (error: unknown): false => {
  if (error instanceof DomainError && error.code === 'store_unavailable') return false;
  throw error;
};
const remind = async ({ user, token }: Voter, target = 'bot/bot1'): Promise<void> => {
  const { status } = await world.ask('PUT', `/users/${user}/${target}/reminders`, { token });
  assert.is(status, 200);
};
const readLastAcked = async ({ user, token }: Voter): Promise<string | null> => {
  const { json } = await world.ask('GET', `/users/${user}/reminders`, { token });
  return json.reminders[0].last_acked;
};
const countOutbox = async ({ user }: Voter): Promise<number> => {
  const rows = await world.sql`select from push_messages where user_id = ${user}`;
  return rows.length;
};

let voter: Awaited<ReturnType<typeof createVoter>>;
test.before.each(async () => {
  voter = await createVoter();
});

test('after the wait, a vote with a reminder sends one message to each browser, once', async () => {
  const second = await subscribe(voter);
  await vote(voter);
  await remind(voter);
  await tick();
  world.clock.skip(12 * hourMs - 60_000);
  await tick();
  assert.equal(voter.browser.messages(), []);
  assert.is(await readLastAcked(voter), null);

  world.clock.skip(60_000);
  const soonest = world.clock.nowMs();
  await tick();
  await tick();

  for (const browser of [voter.browser, second]) {
    assert.equal(browser.messages(), [
      {
        message: 'You can vote again: name-of-bot1',
        resolved: { avatar: 'https://a.example/bot1', name: 'name-of-bot1' },
        target_id: 'bot1',
        target_type: 'bot',
      },
    ]);
  }
  assert.ok(Date.parse((await readLastAcked(voter)) ?? '') >= soonest);
  world.clock.skip(24 * hourMs);
  await tick();
  assert.is(voter.browser.messages().length, 1);
});

test('a reminder set before the vote is due after each vote that follows', async () => {
  await remind(voter, 'pack/pack1');
  await tick();
  world.clock.skip(24 * hourMs);
  await tick();
  assert.equal(voter.browser.messages(), []);

  for (const windows of [1, 2]) {
    await vote(voter, 'pack/pack1');
    await tick();
    world.clock.skip(12 * hourMs);
    await tick();
    assert.is(voter.browser.messages().length, windows);
  }
});

test('a wait that ends before the first check counts as well', async () => {
  await vote(voter);
  world.clock.skip(12 * hourMs - 60_000);
  await remind(voter);
  world.clock.skip(60_000);
  await tick();

  assert.is(voter.browser.messages().length, 1);
});

test('a user who has voted again gets a message only for the new window', async () => {
  await remind(voter);
  await vote(voter);
  world.clock.skip(12 * hourMs);
  await vote(voter);
  await tick();
  assert.equal(voter.browser.messages(), []);

  world.clock.skip(12 * hourMs);
  await tick();
  assert.is(voter.browser.messages().length, 1);
});

test('several nodes that check and send at the same time send one message', async () => {
  const crowd = await Promise.all(Array.from({ length: 8 }, createVoter));
  await Promise.all(crowd.map((voter) => remind(voter)));
  await Promise.all(crowd.map((voter) => vote(voter)));
  await Promise.all([tick(), tick()]);
  world.clock.skip(12 * hourMs);
  await Promise.all([tick(), tick(), tick()]);
  await tick();

  assert.equal(
    crowd.map(({ browser }) => browser.messages().length),
    crowd.map(() => 1),
  );
});

test('premium shortens the wait, also for a vote given before', async () => {
  await addBot(world.sql, 'bot3');
  await remind(voter, 'bot/bot3');
  await vote(voter, 'bot/bot3');
  await world.sql`
    update bots set start_premium_period = now(), premium_period_hours = 87600,
      revision = revision + 1
    where bot_id = 'bot3'`;
  await world.engine.refreshFacts('bot', 'bot3');
  await tick();
  world.clock.skip(4 * hourMs);
  await tickAfterChange();

  assert.is(voter.browser.messages().length, 1);
});

test('premium that begins later in the wait ends it at once', async () => {
  await addBot(world.sql, 'bot5');
  await remind(voter, 'bot/bot5');
  await vote(voter, 'bot/bot5');
  await tick();
  world.clock.skip(5 * hourMs);
  await tick();
  assert.equal(voter.browser.messages(), []);
  await world.sql`
    update bots set start_premium_period = now(), premium_period_hours = 87600,
      revision = revision + 1
    where bot_id = 'bot5'`;
  await world.engine.refreshFacts('bot', 'bot5');
  await world.catalogue.reminders.markDue('bot', 'bot5');
  await tickAfterChange();

  assert.is(voter.browser.messages().length, 1);
});

test('a vote that becomes void, or a reset of all, ends the wait and sends the message', async () => {
  await remind(voter, 'bot/bot2');
  await vote(voter, 'bot/bot2');
  await tick();
  const [row] = await world.sql<{ itag: string }[]>`select itag from votes where author = ${voter.user}`;
  assert.is((await voidVote(world.sql, row?.itag ?? '', 'operator')).kind, 'voided');
  await world.engine.deliverAdjustments('bot', 'bot2');
  await tickAfterChange();
  assert.is(voter.browser.messages().length, 1);

  await vote(voter, 'bot/bot2');
  await tick();
  world.clock.skip(1_000);
  await resetVotes(world.sql, { scope: 'all', atMs: world.clock.nowMs(), reason: 'monthly_reset' });
  await world.engine.deliverAdjustments('bot', 'bot2');
  await tickAfterChange();
  assert.is(voter.browser.messages().length, 2);
});

test('no message for an entity without votes, or to a user who may not vote', async () => {
  await addBot(world.sql, 'bot4');
  await remind(voter, 'bot/bot4');
  await vote(voter, 'bot/bot4');
  await world.sql`update bots set vote_banned = true, revision = revision + 1 where bot_id = 'bot4'`;
  await world.engine.refreshFacts('bot', 'bot4');
  const banned = await createVoter();
  await remind(banned);
  await vote(banned);
  await world.sql`update users set vote_banned = true where id = ${banned.user}`;
  world.clock.skip(12 * hourMs);
  await tick();

  assert.equal([voter.browser.messages(), banned.browser.messages()], [[], []]);
});

test('a browser that is gone loses its subscription; the others of the user stay', async () => {
  const second = await subscribe(voter);
  const third = await subscribe(voter);
  await remind(voter);
  await vote(voter);
  world.clock.skip(12 * hourMs);
  const gone: Record<string, number> = {
    [new URL(voter.browser.endpoint).pathname]: 410,
    [new URL(second.endpoint).pathname]: 404,
  };
  service.answer(({ path }) => ({ status: gone[path] ?? 201 }));
  await tick();

  const { json } = await world.ask('GET', `/users/${voter.user}/notifications`, { token: voter.token });
  assert.equal(pluck(json.notifications, 'endpoint'), [third.endpoint]);
  assert.is(await countOutbox(voter), 0);
});

test('a failing push service gets retries, later each time, and not before its Retry-After', async () => {
  await remind(voter);
  await vote(voter);
  world.clock.skip(12 * hourMs);
  service.answer(() => ({ status: 500 }));
  await tick();
  await tick();
  assert.is(voter.browser.messages().length, 1);
  assert.is(await readLastAcked(voter), null);

  service.answer(() => ({ status: 429, headers: { 'retry-after': '600' } }));
  world.clock.skip(pushLimits.pauseMinMs);
  await tick();
  assert.is(voter.browser.messages().length, 2);
  world.clock.skip(599_000);
  await tick();
  assert.is(voter.browser.messages().length, 2);
  service.answer(() => ({ status: 201 }));
  world.clock.skip(1_000);
  await tick();
  await tick();

  assert.is(voter.browser.messages().length, 3);
  assert.equal([await countOutbox(voter), typeof (await readLastAcked(voter))], [0, 'string']);
  const topics = new Set(service.received.slice(-3).map(({ headers }) => headers.topic));
  assert.is(topics.size, 1);
});

test('a message is abandoned after attemptsMax attempts, and when the user has voted meanwhile', async () => {
  await remind(voter);
  await vote(voter);
  world.clock.skip(12 * hourMs);
  service.answer(() => ({ status: 503 }));
  for (let attempt = 0; attempt < pushLimits.attemptsMax; attempt++) {
    await tick();
    assert.is(await countOutbox(voter), attempt + 1 < pushLimits.attemptsMax ? 1 : 0);
    world.clock.skip(pushLimits.pauseMaxMs);
  }
  assert.is(pushed.at(-1), 'abandoned');

  await vote(voter);
  world.clock.skip(12 * hourMs);
  await tick();
  const before = voter.browser.messages().length;
  await vote(voter);
  world.clock.skip(pushLimits.pauseMinMs);
  await tick();
  assert.is(voter.browser.messages().length, before);
  assert.is(await countOutbox(voter), 0);
});

test('a message that a node took and never sent is sent by another node after the lease', async () => {
  await remind(voter);
  await vote(voter);
  world.clock.skip(12 * hourMs);
  const stopped = new AbortController();
  service.answer(() => {
    stopped.abort();
    return null;
  });
  await tick(stopped.signal);
  service.answer(() => ({ status: 201 }));
  await tick();
  assert.is(voter.browser.messages().length, 1);

  world.clock.skip(pushLimits.leaseMs);
  await tick();
  await tick();

  assert.is(voter.browser.messages().length, 2);
  assert.is(typeof (await readLastAcked(voter)), 'string');
});

test('a message whose attempts never end is taken later each time, and abandoned', async () => {
  await remind(voter);
  await vote(voter);
  world.clock.skip(12 * hourMs);
  const stopped = new AbortController();
  service.answer(() => {
    stopped.abort();
    return null;
  });
  await tick(stopped.signal);
  const { leaseMs } = pushLimits;
  const take = async () => {
    const taken = await world.catalogue.push.take({ nowMs: world.clock.nowMs(), leaseMs, limit: 100 });
    return taken.filter(({ userId }) => userId === voter.user).length;
  };
  for (let attempt = 1; attempt < pushLimits.attemptsMax; attempt++) {
    world.clock.skip(leaseMs * 2 ** Math.min(attempt - 1, 6));
    assert.is(await take(), 1);
    world.clock.skip(leaseMs * 2 ** Math.min(attempt, 6) * 0.7);
    assert.is(await take(), 0);
  }
  service.answer(() => ({ status: 201 }));
  const before = voter.browser.messages().length;
  world.clock.skip(leaseMs * 64);
  await tick();
  assert.equal([voter.browser.messages().length, await countOutbox(voter)], [before, 0]);
});

test.run();
