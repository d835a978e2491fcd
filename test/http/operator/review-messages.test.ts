/**
 * What owners learn of a review of their listing: a push message to each of their browsers, from the
 * operator's decision over the outbox to a push service over TLS.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createReminderJob } from '../../../ops/jobs/jobs.ts';
import { addBot, addMember, addServer, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { silentMeters } from '../../support/job-meters.ts';
import { pluck } from '../../support/pluck.ts';
import { type Browser, startPushService } from '../../support/push-service.ts';
import { openOperated } from './world.ts';

const test = suite('messages about reviews');
const service = await startPushService();
const world = await openOperated({ push: { ca: service.ca, resolve: async () => ['127.0.0.1'] } });
const { done, sql } = world;
for (const user of ['robin', 'ann', 'ben', 'cat']) await addUser(sql, user);
await addTeam(sql, 'harbour');
await addMember(sql, 'harbour', { user: 'ann', permissions: ['owner'], mentionable: true });
await addMember(sql, 'harbour', { user: 'ben', permissions: ['owner'] });
test.after(async () => {
  await world.close();
  await service.close();
});
test.before.each(() => service.answer(() => ({ status: 201 })));

const serverId = '758641373074423808';
const silent = (): void => {};
/** Sends what waits to be sent. */
const send = (): Promise<void> =>
  createReminderJob({ ...world, meters: silentMeters, log: silent }).run(new AbortController().signal);
const subscribe = async (user: string): Promise<Browser> => {
  const browser = service.browser();
  const { endpoint, auth, p256dh } = browser;
  const token = await world.token('user', user, { lastsSeconds: 5 * 365 * 86_400 });
  const options = { token, body: { endpoint, auth, p256dh } };
  assert.is((await world.ask('POST', `/users/${user}/notifications`, options)).status, 204);
  return browser;
};
const listTexts = (browser: Browser): readonly string[] =>
  browser.messages().map((message) => (message as { message: string }).message);
const listAbout = (browser: Browser, id: string) =>
  browser.messages().filter((message) => (message as { target_id: string }).target_id === id);
const countWaiting = async (): Promise<number> => (await sql`select from push_messages`).length;

const [robin, second, ann, ben] = (await Promise.all(['robin', 'robin', 'ann', 'ben'].map(subscribe))) as [
  Browser,
  Browser,
  Browser,
  Browser,
];

test('a denial reaches each browser of the owner, with its reason, once', async () => {
  await addBot(sql, 'lamp', { type: 'pending' });
  await done('POST /bots/lamp/deny', { note: 'The invite leads nowhere.' });
  await send();
  await send();

  const message = {
    message: 'Not accepted: lamp\nThe invite leads nowhere.',
    resolved: { avatar: '', name: 'lamp' },
    target_id: 'lamp',
    target_type: 'bot',
  };
  for (const browser of [robin, second]) assert.equal(listAbout(browser, 'lamp'), [message]);
  assert.equal([listAbout(ann, 'lamp'), listAbout(ben, 'lamp'), await countWaiting()], [[], [], 0]);
  assert.is((await world.read('/bots/lamp')).approval_note, 'The invite leads nowhere.');
});

test('of a team, those members get it who may be mentioned; of a server, too', async () => {
  await addBot(sql, 'crane', { type: 'pending', team_id: 'harbour' });
  await addServer(sql, serverId, { type: 'pending', team_id: 'harbour' });
  await done('POST /bots/crane/approve', {});
  await done(`POST /servers/${serverId}/certify`, { reason: 'Well kept.' });
  await send();

  const about = (browser: Browser): readonly string[] =>
    listTexts(browser).filter((text) => /crane|Server/.test(text));
  assert.equal(about(ann).toSorted(), ['Approved: crane', `Certified: Server ${serverId}\nWell kept.`]);
  assert.equal(about(ben), []);
});

test('a newer review replaces a message that waits, and a deleted listing has none', async () => {
  service.answer(() => ({ status: 503 }));
  await addBot(sql, 'buoy', { type: 'pending', team_id: 'harbour' });
  const before = ann.messages().length;
  await done('POST /bots/buoy/deny', { note: 'No.' });
  await send();
  await done('POST /bots/buoy/pend', { note: 'Looked at again.' });
  service.answer(() => ({ status: 201 }));
  await send();
  assert.equal(listTexts(ann).slice(before), [
    'Not accepted: buoy\nNo.',
    'Waits for a review again: buoy\nLooked at again.',
  ]);

  await done('POST /bots/buoy/deny', { note: 'No.' });
  await done('DELETE /bots/buoy');
  assert.is(await countWaiting(), 0);
});

test('a long reason is cut to what a message has room for; the field has all of it', async () => {
  await addBot(sql, 'long-story', { type: 'pending', team_id: 'harbour' });
  const note = '🌊'.repeat(2_000);
  await done('POST /bots/long-story/deny', { note });
  await send();

  assert.is(listTexts(ann).at(-1), `Not accepted: long-story\n${'🌊'.repeat(299)}…`);
  assert.is((await world.read('/bots/long-story')).approval_note, note);
});

test('a reminder that is removed takes its message with it, and no message of a review', async () => {
  service.answer(() => ({ status: 503 }));
  await addBot(sql, 'whistle', { type: 'approved', owner_id: 'cat' });
  await subscribe('cat');
  await done('POST /bots/whistle/approve', { note: 'Fine.' });
  const token = await world.token('user', 'cat');
  const path = '/users/cat/bots/whistle/reminders';
  assert.is((await world.ask('PUT', path, { token })).status, 200);
  await sql`
    insert into push_messages (subscription_id, incarnation, user_id, next_at_ms)
    select push_subscriptions.id, bots.incarnation, 'cat', 0 from push_subscriptions, bots
    where user_id = 'cat' and bot_id = 'whistle'`;
  assert.is((await world.ask('DELETE', path, { token })).status, 204);

  const left = await sql<{ review_note: string }[]>`select review_note from push_messages`;
  assert.equal(pluck(left, 'review_note'), ['Fine.']);
});

test.run();
