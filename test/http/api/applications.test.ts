/**
 * The routes of applications against a complete Rollcall.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  appsPerPage,
  deletePosition,
  listApplications,
  type PositionFields,
  reviewApplication,
  upsertPosition,
} from '../../../storage/catalogue/content/applications.ts';
import { addBot, addMember, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { pluck } from '../../support/pluck.ts';
import { codeOf, openWorld } from './world.ts';

const test = suite('routes of applications');
let users = 0;

const world = await openWorld();
test.after(() => world.close());

interface Applicant {
  readonly id: string;
  readonly token: string;
}
const applicant = async (): Promise<Applicant> => {
  const id = `user-${++users}`;
  await addUser(world.sql, id);
  return { id, token: await world.token('user', id) };
};
const send = ({ id, token }: Applicant, position: string, answers: unknown) =>
  world.ask('POST', `/users/${id}/apps`, { token, body: { position, answers } });
const list = async ({ id, token }: Applicant) =>
  (await world.ask('GET', `/users/${id}/apps`, { token })).json.apps;
const long = 'x'.repeat(50);
const partners = { project: long, idea: long, link: 'https://example.org' };
const staff = { motivation: long, experience: long, conflict: long, time: '6 hours' };
/** Decides the user's only pending application. */
const review = async (user: Applicant, state: 'approved' | 'denied', feedback = '') => {
  const pending = (await list(user)).find((app: { state: string }) => app.state === 'pending');
  return reviewApplication(world.sql, pending.app_id, { state, feedback });
};
const position = (fields: Partial<PositionFields> = {}): PositionFields => ({
  id: 'artist',
  ordinal: 5,
  name: 'Artist',
  info: 'Draws.',
  tags: ['Art'],
  questions: [{ id: 'why', question: 'Why?', paragraph: '', placeholder: '', short: true }],
  closed: false,
  hidden: false,
  cooldown_hours: 0,
  ...fields,
});

/** Sends visitors until the bot has had so many different ones: a click is counted after its reply. */
const visit = async (bot: string, visitors: number): Promise<void> => {
  let counted = 0;
  for (const untilMs = performance.now() + 30_000; counted < visitors && performance.now() < untilMs; ) {
    const headers = { 'x-forwarded-for': `203.0.113.${Math.min(counted + 1, visitors)}` };
    counted = (await world.ask('GET', `/bots/${bot}?target=page`, { headers })).json.unique_clicks;
  }
  assert.is(counted, visitors);
};

test('GET /apps/meta → 200 with the shipped positions in their order, hidden ones too', async () => {
  const { status, json, headers } = await world.ask('GET', '/apps/meta');
  interface Shown {
    id: string;
    hidden: boolean;
    cooldown: number;
    questions: { short: boolean; question: string; paragraph: string }[];
  }
  const positions: Shown[] = json.positions;

  assert.equal([status, json.stable, headers.get('cache-control')], [200, true, 'max-age=2']);
  assert.equal(
    positions.map(({ id, hidden, cooldown }) => [id, hidden, cooldown]),
    [
      ['staff', false, 48],
      ['qaqc', false, 120],
      ['dev', false, 48],
      ['partners', false, 0],
      ['resubmit', true, 0],
      ['banappeal', true, 0],
      ['certification', true, 0],
    ],
  );
  for (const { questions } of positions) {
    assert.ok(questions.length >= 2);
    assert.ok(questions.every(({ question, paragraph }) => question !== '' && paragraph !== ''));
  }
});

test('POST /users/:id/apps → 204: pending, with the answers, the questions and who asks', async () => {
  const robin = await applicant();
  assert.equal(await list(robin), []);
  assert.is((await send(robin, 'staff', { ...staff, unknown: 'dropped' })).status, 204);
  const [app, ...others] = await list(robin);

  assert.is(others.length, 0);
  assert.equal(app.answers, staff);
  assert.equal([app.position, app.state, app.review_feedback], ['staff', 'pending', '']);
  assert.equal([app.user_id, app.user.id, app.questions.length], [robin.id, robin.id, 4]);
});

test('POST /users/:id/apps → 204 for several positions of one user, at the bounds of answers', async () => {
  const wren = await applicant();
  const owl = '\u{1F989}';
  const bounds = { project: owl.repeat(10_000), idea: owl.repeat(50), link: owl.repeat(4_096) };
  assert.is((await send(wren, 'partners', bounds)).status, 204);
  assert.is((await send(wren, 'staff', staff)).status, 204);

  assert.equal(pluck(await list(wren), 'position'), ['staff', 'partners']);
});

test('POST /users/:id/apps → 400 naming each answer that will not do, and nothing is written', async () => {
  const finch = await applicant();
  for (const [answers, pointers] of [
    [{}, ['/answers/project', '/answers/idea', '/answers/link']],
    [{ ...partners, link: ' ' }, ['/answers/link']],
    [{ ...partners, link: 'x'.repeat(4_097) }, ['/answers/link']],
    [{ ...partners, idea: 'too short' }, ['/answers/idea']],
    [{ ...partners, idea: 'x'.repeat(10_001) }, ['/answers/idea']],
  ] as const) {
    const { status, json } = await send(finch, 'partners', answers);
    const { code, request_id: _, ...named } = json.context;
    assert.equal([status, code, Object.keys(named)], [400, 'validation_failed', pointers]);
  }
  for (const answers of [undefined, null, [], { link: 1 }, 'text']) {
    assert.is((await send(finch, 'partners', answers)).status, 400, JSON.stringify(answers));
  }
  assert.ok('/position' in (await send(finch, 'emperor', partners)).json.context);
  assert.equal(await list(finch), []);
});

test('POST /users/:id/apps → 409 while one is pending; of ten at once one is taken', async () => {
  const swift = await applicant();
  const replies = await Promise.all(Array.from({ length: 10 }, () => send(swift, 'partners', partners)));
  assert.is(replies.filter(({ status }) => status === 204).length, 1);
  assert.equal(codeOf(await send(swift, 'partners', partners)), [409, 'already_exists']);
  assert.is((await list(swift)).length, 1);

  assert.is(await review(swift, 'denied', 'Not yet.'), 'done');
  assert.is((await send(swift, 'partners', partners)).status, 204);
  const [newest, denied] = await list(swift);
  assert.equal([newest.state, denied.state, denied.review_feedback], ['pending', 'denied', 'Not yet.']);
});

test('POST /users/:id/apps → 429 with the time left until the cooldown is over', async () => {
  const crane = await applicant();
  await send(crane, 'staff', staff);
  await review(crane, 'denied');
  await world.sql`update apps set created_at = now() - interval '10 hours' where user_id = ${crane.id}`;
  const early = await send(crane, 'staff', staff);

  assert.equal(codeOf(early), [429, 'application_wait']);
  const retrySeconds = Number(early.headers.get('retry-after'));
  assert.ok(retrySeconds > 37.9 * 3_600 && retrySeconds <= 38 * 3_600, String(retrySeconds));
  assert.match(early.json.context.hours, /^3[78]$/);
  await world.sql`update apps set created_at = now() - interval '48 hours' where user_id = ${crane.id}`;
  assert.is((await send(crane, 'staff', staff)).status, 204);
});

test('POST /users/:id/apps → 403 for a banned user, except for an appeal', async () => {
  const heron = await applicant();
  await world.sql`update users set banned = true where id = ${heron.id}`;
  assert.equal(codeOf(await send(heron, 'staff', {})), [403, 'banned']);
  assert.equal(codeOf(await send(heron, 'emperor', {})), [403, 'banned']);
  assert.is((await send(heron, 'banappeal', { reason: long, appeal: long })).status, 204);
  assert.is((await list(heron)).length, 1);
  const other = await world.ask('GET', `/users/${heron.id}/sessions`, { token: heron.token });
  assert.equal(codeOf(other), [403, 'banned']);
});

test('POST /users/:id/apps → 409 for a bot that cannot be certified yet, 204 when it can', async () => {
  const owner = await applicant();
  await addBot(world.sql, 'star', { owner_id: owner.id, type: 'pending' });
  const token = await world.token('bot', 'star');
  const certify = () => send(owner, 'certification', { bot_id: ' star ', quality: long, privacy: long });
  const early = await certify();
  assert.equal(codeOf(early), [409, 'bot_not_eligible']);
  assert.equal(['type', 'servers', 'unique_clicks'].filter((field) => field in early.json.context).length, 3);

  await world.sql`update bots set type = 'approved' where bot_id = 'star'`;
  await world.ask('POST', '/bots/stats', { token, body: { servers: 100 } });
  await visit('star', 29);
  const almost = await certify();
  assert.equal(codeOf(almost), [409, 'bot_not_eligible']);
  assert.match(almost.json.context.unique_clicks, /but is 29$/);
  assert.not.ok('servers' in almost.json.context);

  await visit('star', 30);
  assert.is((await certify()).status, 204);
});
test('POST /users/:id/apps → 400 for no bot, 403 without the permission on it', async () => {
  const [member, stranger] = [await applicant(), await applicant()];
  await addTeam(world.sql, 'stars');
  await addBot(world.sql, 'denied', { team_id: 'stars', type: 'denied' });
  await addMember(world.sql, 'stars', { user: member.id, permissions: ['resubmit_bots'] });
  const resubmit = (user: Applicant, bot: string) => send(user, 'resubmit', { bot_id: bot, changes: long });
  for (const bot of ['nobody', 'no such/bot', '\u0007']) {
    assert.ok('/answers/bot_id' in (await resubmit(member, bot)).json.context, bot);
  }
  const refused = await resubmit(stranger, 'denied');
  assert.equal(codeOf(refused), [403, 'permission_missing']);
  assert.is(refused.json.context.permission, 'resubmit_bots');
  assert.is((await resubmit(member, 'denied')).status, 204);
});

test('the operator writes, closes and deletes positions; applications keep their questions', async () => {
  const owl = await applicant();
  const write = (fields: Partial<PositionFields>) => upsertPosition(world.sql, position(fields));
  const shown = async () => {
    const { json } = await world.ask('GET', '/apps/meta');
    return json.positions.find(({ id }: { id: string }) => id === 'artist');
  };
  assert.is(await write({}), 'done');
  assert.equal([(await shown()).name, (await shown()).closed], ['Artist', false]);
  assert.is((await send(owl, 'artist', { why: 'x' })).status, 204);
  assert.is(await write({ name: 'Painter', closed: true, questions: [] }), 'done');
  assert.equal([(await shown()).name, (await shown()).closed], ['Painter', true]);
  assert.equal(codeOf(await send(owl, 'artist', {})), [409, 'position_closed']);
  assert.is((await list(owl))[0].questions[0].id, 'why');

  assert.is(await write({ id: 'certification' }), 'bot_question_missing');
  assert.equal(
    [await deletePosition(world.sql, 'artist'), await deletePosition(world.sql, 'artist')],
    [true, false],
  );
  assert.is((await send(owl, 'artist', {})).status, 400);
  assert.is((await list(owl)).length, 1);
});

test('an application is reviewed once; the operator reads them by state, the oldest first', async () => {
  const user = await applicant();
  await send(user, 'qaqc', { motivation: long, report: long, devices: 'x' });
  const [app] = await list(user);
  const verdicts = await Promise.all([
    reviewApplication(world.sql, app.app_id, { state: 'approved', feedback: 'Welcome.' }),
    reviewApplication(world.sql, app.app_id, { state: 'denied', feedback: 'No.' }),
  ]);
  assert.equal([...verdicts].sort(), ['already_reviewed', 'done']);
  const unknown = '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a42';
  assert.is(await reviewApplication(world.sql, unknown, { state: 'denied', feedback: '' }), 'not_found');

  await world.sql`
    insert into apps (app_id, user_id, position, questions, answers, state, created_at)
    select gen_random_uuid(), 'nobody', 'staff', '[]', '{}', 'denied', now() - make_interval(days => n)
    from generate_series(1, ${appsPerPage + 10}) as n`;
  const [first, second] = [
    await listApplications(world.sql, 'denied', 1),
    await listApplications(world.sql, 'denied', 2),
  ];
  assert.is(first.rows.length, appsPerPage);
  assert.is(first.rows.length + second.rows.length, first.count);
  assert.ok((first.rows[0]?.created_at ?? 0) < (second.rows[0]?.created_at ?? 0));
  assert.is(first.rows[0]?.person, null);
});

test.run();
