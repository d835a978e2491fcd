/**
 * Commands that are hard to undo: what they show before, what confirms them, and that nothing happens without
 * a confirmation. The commands run in this process, against a node; a terminal is a stream that says so.
 */
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { adminOperations } from '../../../http/operator/table.ts';
import { runOperation } from '../../../ops/cli/operator/run.ts';
import { type Config, readConfig } from '../../../ops/config/config.ts';
import { type Running, start } from '../../../ops/rollcall.ts';
import { openStores } from '../../../storage/open.ts';
import { addBot, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { makeFolder } from '../../support/folder.ts';
import { makeSqlFolder } from '../../support/sql-template.ts';
import { type Ran, runOnStreams } from './streams.ts';

const test = suite('commands that ask first');
const readerToken = 'r'.repeat(40);
const settings = {
  DATA_DIR: join(makeFolder('rollcall-confirm-'), 'data'),
  PORT: '0',
  ADMIN_PORT: '0',
  ADMIN_TOKENS: `robin:${'o'.repeat(40)},wren:${readerToken}:read`,
  DEMO: 'off',
  LOG_LEVEL: 'silent',
};
const bot = '815553000470478850';
const spare = '815553000470478851';
const voted = '815553000470478852';
let node: Running;
let config: Config;
test.before(async () => {
  await makeSqlFolder(join(settings.DATA_DIR, 'postgres'));
  const stores = await openStores(readConfig(settings), { clock: Date.now, onWarning: () => {} });
  for (const user of ['5', 'robin']) await addUser(stores.sql, user);
  await addTeam(stores.sql, 'keepers');
  for (const id of [bot, spare]) await addBot(stores.sql, id);
  await addBot(stores.sql, voted, { counted: { upvotes: 1 } });
  await stores.close();
  node = await start(readConfig(settings));
  config = { ...readConfig(settings), adminPort: Number(new URL(node.adminUrl).port) };
});
test.after(() => node.stop());

/** `answer` is what the operator types; `null` runs the command without a terminal. */
const run = (line: string, answer: string | null = null, token = ''): Promise<Ran> => {
  const used = token === '' ? config : { ...config, adminToken: token };
  return runOnStreams((streams) => runOperation(line.split(' '), streams, used), answer);
};
const listBanned = async (): Promise<string[]> => {
  const { users } = JSON.parse((await run('users list --ban banned --json')).out);
  return users.map((user: { id: string }) => user.id);
};

test('every deletion, ban, reset, void and revocation asks', () => {
  const confirmed = adminOperations.filter(({ isPreviewed }) => isPreviewed).map(({ command }) => command);
  const expected =
    /^(\S+ delete|users (vote-)?ban|listings vote-ban|votes (void.*|undo|reset.*)|tokens revoke)$/;
  const all = adminOperations.map(({ command }) => command);

  assert.equal(
    confirmed,
    all.filter((command) => expected.test(command)),
  );
});

test('without a terminal and without --yes: exit code 2, and nothing is done', async () => {
  const { code, out, err } = await run('users ban 5');

  assert.equal([code, out], [2, '']);
  assert.match(
    err,
    /^Bans the user 5 "name-of-5": 0 tokens of theirs stop working at once\.\nNothing was done\./,
  );
  assert.match(err, /add --yes/);
  assert.equal(await listBanned(), []);
});

test('in a terminal, anything but yes does nothing', async () => {
  for (const answer of ['n\n', '\n', '', 'yep\n']) {
    const { code, out, err } = await run('users ban 5', answer);
    assert.equal([code, out], [1, ''], answer);
    assert.match(err, /Go on\? \[y\/N\].*Nothing was done\.$/s);
  }
  assert.equal(await listBanned(), []);
});

test('in a terminal, yes does it', async () => {
  const { code, out } = await run('users ban 5', 'y\n');

  assert.equal([code, out], [0, 'User 5 is banned.\n']);
  assert.equal(await listBanned(), ['5']);
  await run('users unban 5');
});

test('Ctrl-C at the question interrupts the command, and nothing is done', async () => {
  const { code, err } = await run('users ban 5', '\x03');

  assert.equal([code, (await listBanned()).includes('5')], [130, false]);
  assert.match(err, /Nothing was done\.$/);
});

test('a ban of an unknown id says so, and creates no user unless confirmed', async () => {
  const refused = await run('users ban 12', 'n\n');
  const unknown = await run('users show 12');
  const confirmed = await run('users ban 12 --yes');

  assert.match(refused.err, /^There is no user 12 yet\. Bans that id in advance: check that it is right\.$/m);
  assert.equal([refused.code, unknown.code, confirmed.code], [1, 1, 0]);
  assert.equal(await listBanned(), ['12']);
});

for (const [line, expected] of [
  [`bots delete ${spare}`, /^Deletes the bot \d+ ".+" for good: its 0 votes become void, 0 tokens of it are/],
  [`bots delete ${voted}`, /^Deletes the bot \d+ ".+" for good: its 1 vote becomes void, 0 tokens of it are/],
  ['teams delete keepers', /^Deletes the team keepers ".*" for good: .* refused while the team owns/],
  [`votes reset bot ${bot}`, /^Voids the votes of the bot \d+ ".+" cast before 20.* It has 0 votes;/],
  [`listings vote-ban bot ${bot}`, /^Users can no longer vote for the bot \d+ ".+"\.$/m],
  ['votes reset-all --confirm all', /^Voids the votes of all listings .*: 1 listing with 1 vote\.$/m],
  ['positions delete staff', /^Deletes the position staff ".+"\.$/m],
] as const) {
  test(`"${line}" --dry-run says what it would do, and does nothing`, async () => {
    const audited = JSON.parse((await run('audit list --json')).out).entries;
    const { code, out, err } = await run(`${line} --dry-run`);

    assert.equal([code, err], [0, '']);
    assert.match(out, expected);
    assert.equal(JSON.parse((await run('audit list --json')).out).entries, audited);
    assert.is((await run(`bots list --search ${spare} --json`)).out.includes(spare), true);
  });
}

test('a token is revoked only when confirmed', async () => {
  const { session_id: session } = JSON.parse((await run('tokens issue user 5 --name night --json')).out);
  const dry = await run(`tokens revoke user 5 ${session} --dry-run`);
  const ban = await run('users ban 5 --dry-run');
  const listed = await run('tokens list user 5');
  const revoked = await run(`tokens revoke user 5 ${session} --yes`);

  assert.match(dry.out, /^Revokes the login token "night" of user 5, made 20.* It has 1 active token,/);
  assert.match(ban.out, /: 1 token of theirs stops working at once\.$/m);
  assert.match(listed.out, new RegExp(session));
  assert.equal([revoked.code, revoked.err], [0, '']);
});

test('status and nodes list show this node with its version, its load and its backlog', async () => {
  const status = await run('status show --json');
  const nodes = await run('nodes list');
  const { ready, nodes: rows } = JSON.parse(status.out);

  assert.equal([ready, rows.length, rows[0].version.slice(0, 5)], [true, 1, '0.1.0']);
  for (const name of ['uptime_s', 'requests_per_s', 'backlog_entities', 'outbox_votes', 'flush_lag_s']) {
    assert.type(rows[0][name], 'number', name);
  }
  assert.match(nodes.out, /^node +version +uptime s .*\n.* 0\.1\.0.*\n\n1 in total\.\n$/);
});

test('what does not exist is a failure before anything is asked', async () => {
  for (const line of [
    'bots delete 815553000470478859',
    'votes void 018f3b7e-0000-7000-8000-000000000001',
    'tokens revoke user 5 018f3b7e-0000-7000-8000-000000000001',
    'blog delete none',
  ]) {
    const { code, out, err } = await run(line, 'y\n');
    assert.equal([code, out], [1, ''], line);
    assert.match(err, /^There is no such /);
    assert.not.match(err, /Go on/);
  }
});

test('the record names the operator; a token that may only read changes nothing', async () => {
  await run('words add heron', null, 'o'.repeat(40));
  const [entry] = JSON.parse((await run('audit list --json')).out).entries;
  const refused = await run('words add grebe', null, readerToken);
  const read = await run('words list', null, readerToken);

  assert.equal([entry.operator, entry.operation], ['robin', 'words add']);
  assert.is(refused.code, 1);
  assert.match(refused.err, /The token of wren may only read\./);
  assert.equal([read.code, read.out.includes('heron'), read.out.includes('grebe')], [0, true, false]);
});

test.run();
