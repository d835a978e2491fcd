/**
 * The operator's commands on a running node: arguments, output, exit codes.
 *
 * Most commands run in this process, with the settings of the node; two run as the real program.
 */
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseCommand } from '../../../ops/cli/operator/arguments.ts';
import { formatOperationHelp, runOperation } from '../../../ops/cli/operator/run.ts';
import { formatAnswer } from '../../../ops/cli/operator/table.ts';
import { type Config, readConfig } from '../../../ops/config/config.ts';
import { start } from '../../../ops/rollcall.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { botBody } from '../../support/bot-body.ts';
import { watchChild } from '../../support/child.ts';
import { makeFolder } from '../../support/folder.ts';
import { close, listen } from '../../support/loopback.ts';
import { sameEveryDay } from '../../support/rules.ts';
import { makeSqlFolder } from '../../support/sql-template.ts';
import { until } from '../../support/until.ts';
import { type Ran, runOnStreams } from './streams.ts';

const test = suite('commands for a running node');
const folder = makeFolder('rollcall-operator-');
const settings = {
  DATA_DIR: join(folder, 'data'),
  PORT: '0',
  ADMIN_PORT: '0',
  DEMO: 'off',
  LOG_LEVEL: 'silent',
  ...sameEveryDay,
};
await makeSqlFolder(join(settings.DATA_DIR, 'postgres'));
const node = await start(readConfig(settings));
const config = { ...readConfig(settings), adminPort: Number(new URL(node.adminUrl).port) };
test.after(() => node.stop());

/** Runs one command. Blanks separate the arguments; `_` in an argument stands for a blank. */
const run = (line: string, overrides: Partial<Config> = {}): Promise<Ran> => {
  const args = line.split(' ').map((argument) => argument.replaceAll('_', ' '));
  return runOnStreams((streams) => runOperation(args, streams, { ...config, ...overrides }));
};
const program = fileURLToPath(new URL('../../../ops/cli/main.ts', import.meta.url));
/** Runs the real program. Not synchronous, because the node runs in this process. */
const spawnIn = (DATA_DIR: string, ...args: string[]) => {
  const ports = { PORT: '1', ADMIN_PORT: String(config.adminPort) };
  const env = { ...process.env, ...settings, ...ports, DATA_DIR };
  return watchChild(spawn(process.execPath, [...process.execArgv, program, ...args], { env })).ended;
};
const spawnOps = (...args: string[]) => spawnIn(settings.DATA_DIR, ...args);

test('the program finds the node and its token by the settings', async () => {
  const args = ['put', '728871946456137770', '--username', 'robin', '--flags', 'staff'];
  const made = await spawnOps('users', ...args);
  const mistaken = await spawnOps('users', 'bann', '1');

  assert.equal([made.code, made.out], [0, 'User 728871946456137770 is written.\n'], made.err);
  assert.equal([mistaken.code, mistaken.out], [2, '']);
  assert.match(mistaken.err, /Did you mean "users ban"\?/);
});

test('a command on a missing folder does not create it', async () => {
  const nowhere = join(folder, 'mistyped');
  for (const args of [
    ['inspect', 'bot', '1'],
    ['export', '-'],
    ['reflush'],
    ['move', '--to-data', join(folder, 'moved')],
  ]) {
    const { code, out, err } = await spawnIn(nowhere, ...args);
    assert.equal([code, out], [1, ''], args.join(' '));
    assert.match(err, /There is no directory in .*mistyped\. Set DATA_DIR to its folder\./);
  }
  assert.not.ok(existsSync(nowhere));
});

test('an object is printed as lines, a list as a table, and both as JSON on request', async () => {
  await run('users put 5 --username wren --flags staff --flags judge');
  const one = await run('users show 5');
  const all = await run('users list');
  const json = await run('users list --json');

  assert.match(one.out, /^username +wren$/m);
  assert.match(one.out, /^flags +staff, judge$/m);
  assert.match(all.out, /^id +username .*\n(.*\n)*5 +wren +wren/);
  assert.is(JSON.parse(json.out).users.find((user: { id: string }) => user.id === '5').username, 'wren');
});

test('a command prints the new state', async () => {
  assert.equal(await run('users ban 5 --yes'), { code: 0, out: 'User 5 is banned.\n', err: '' });
  assert.match((await run('users list --ban banned')).out, /^5 +wren/m);
  assert.equal(await run('users unban 5'), { code: 0, out: 'User 5 is no longer banned.\n', err: '' });
  assert.equal(await run('users show 404'), { code: 1, out: '', err: 'There is no such user.\n' });
});

test('votes and tokens are listed with what names them in the commands that void and revoke', async () => {
  assert.equal(await run('votes list --user 5'), { code: 0, out: 'None.\n', err: '' });
  const { session_id } = JSON.parse((await run('tokens issue user 5 --json')).out);
  assert.match((await run('tokens list user 5')).out, new RegExp(session_id));
});

test('a refusal names the options that were typed: exit code 2, or 1 for what does not exist', async () => {
  for (const [line, expected] of [
    ['bots approve 123', /^There is no such bot\.$/m],
    ['votes void one', /^ {2}ITAG must be a UUID$/m],
    ['bots premium 1 --hours -1', /--hours/],
    ['bots premium 1 --hours=-1', /^ {2}--hours must be 0 or more$/m],
    ['bots premium 1', /^ {2}--hours is missing$/m],
    ['bots deny 1', /^ {2}--note is missing$/m],
    ['servers deny 758641373074423808 --note _', /^ {2}--note must/m],
    ['bots list --type odd', /^ {2}--type must be one of "pending"/m],
    ['positions put staff --name Staff', /^ {2}"questions" in --file is missing$/m],
    ['users list --page 0', /^ {2}--page must be a whole number from 1$/m],
  ] as const) {
    const { code, out, err } = await run(line);
    assert.match(err, expected, line);
    assert.equal([out, code], ['', line === 'bots approve 123' ? 1 : 2], line);
  }
});

test('invalid arguments are not sent: exit code 2 and the usage', async () => {
  for (const [line, expected] of [
    [
      'bots approve',
      /^ID is missing\.\nUsage: rollcall ops bots approve ID \[options\]\nMore: .* help bots approve/,
    ],
    ['bots approve 1 2', /^"2" is one argument too many\.\nUsage/],
    ['bots approve 1 --fast', /Unknown option '--fast'.*\nUsage/],
    ['bots premium 1 --hours soon', /--hours must be a number, not "soon"/],
    ['bots premium 1 --hours _', /--hours must be a number, not " "/],
    ['words add ..', /"\.\." is not an id or a name/],
    ['words add a/b', /"a\/b" is not/],
    ['words add a\tb', /"a\\tb" is not/],
    ['bots fly 1', /no command "bots fly"\. The commands of "bots" are list, show, add/],
  ] as const) {
    const { code, out, err } = await run(line);
    assert.match(err, expected, line);
    assert.equal([code, out], [2, ''], line);
  }
});

test('a negative number may stand behind its option, as half of all hashes do', () => {
  const { body } = parseCommand(['votes', 'void-many', '--address-hash', '-81985529216486896']);

  assert.equal(body, { address_hash: '-81985529216486896' });
});

test('a file sets fields without options, and options override it', async () => {
  const file = join(folder, 'position.json');
  writeFileSync(
    file,
    JSON.stringify({ name: 'From the file', questions: [{ id: 'why', question: 'Why?' }] }),
  );
  const put = await run(`positions put artist --name Artist --file ${file}`);
  const shown = (await (await fetch(`${node.url}/apps/meta`)).json()) as { positions: { name: string }[] };
  writeFileSync(file, '[]');
  const list = await run(`positions put artist --file ${file}`);
  const none = await run(`positions put artist --file ${join(folder, 'none')}`);

  assert.equal([put.code, put.err], [0, '']);
  assertIncludes(JSON.stringify(shown), '"Artist"');
  assert.match(list.err, /must contain one JSON object/);
  assert.match(none.err, /--file .*none: ENOENT/);
  assert.equal([list.code, none.code], [1, 1]);
});

test('an issued token works, and the audit record does not contain it', async () => {
  const { out } = await run('tokens issue user 5 --json');
  const { token } = JSON.parse(out);
  const reply = await fetch(`${node.url}/users/5/reminders`, { headers: { authorization: token } });
  const { out: record } = await run('audit list --json');

  assert.is(reply.status, 200);
  assert.match(record, /"operation": "tokens issue"/);
  assert.not.match(record, /rc_user/);
});

test('the error names the source of a wrong token, and the path of a missing one', async () => {
  const wrong = await run('users list', { adminToken: 'x'.repeat(40) });
  const missing = await run('users list', { adminToken: '', dataDir: join(folder, 'elsewhere') });

  assert.equal([wrong.code, missing.code], [1, 1]);
  assert.match(wrong.err, /not the token of an operator\.\n {2}The token is from ADMIN_TOKEN\./);
  assert.match(missing.err, /token is not in .*elsewhere.*\(ENOENT\).*DATA_DIR/);
});

test('without a node at the address, the error names the address and the setting', async () => {
  const stranger = createServer((_, response) => response.end('<h1>Hello</h1>'));
  const adminPort = await listen(stranger);
  const other = await run('users list', { adminPort });
  await close(stranger);
  const refused = await run('users list', { adminPort });
  const openPort = await run('users list', { adminPort: Number(new URL(node.url).port) });

  assert.match(other.err, /is not an operator's listener.*ADMIN_PORT/);
  assert.match(refused.err, /No node answers at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\).*ADMIN_PORT/);
  assert.match(
    openPort.err,
    /no such path\.\n {2}Check that ADMIN_PORT is the port of the operator's listener\./,
  );
  assert.equal([other.code, refused.code, openPort.code], [1, 1, 1]);
});

/** Sends a request of `user` to the public port. `line` is the method and the path. */
const asUser = async (user: string, line: string, body: object): Promise<unknown> => {
  const [method = '', path = ''] = line.split(' ');
  const { token } = JSON.parse((await run(`tokens issue user ${user} --json`)).out);
  const headers = { authorization: token, 'content-type': 'application/json' };
  const reply = await fetch(`${node.url}${path}`, { method, headers, body: JSON.stringify(body) });
  const text = await reply.text();
  assert.ok(reply.ok, text);
  return text === '' ? null : JSON.parse(text);
};
const keptBot = '815553000470478850';

test('teams show and packs show print tables; a team can be deleted when it owns nothing', async () => {
  const made = await asUser('5', 'POST /teams', { name: 'Keepers' });
  const { team_id: team } = made as { team_id: string };
  const file = join(folder, 'bot.json');
  writeFileSync(file, JSON.stringify({ ...botBody, team_owner: team }));
  await run(`bots add ${keptBot} --file ${file}`);
  await asUser('5', 'PUT /users/5/packs', {
    url: 'night-owls',
    name: 'Night owls',
    short: 'Bots for people who never sleep at night.',
    tags: ['fun'],
    bots: [keptBot],
  });
  const shown = await run(`teams show ${team}`);
  const pack = await run('packs show Night-Owls');
  const kept = await run(`teams delete ${team} --yes`);
  await run(`bots delete ${keptBot} --yes`);
  const deleted = await run(`teams delete ${team} --yes`);
  const after = await run('packs show night-owls --json');

  assert.match(shown.out, /^name +Keepers$/m);
  assert.match(shown.out, /^servers +-$/m);
  assert.match(shown.out, /^members \(1\)\nuser id +username .*permissions\n5 +\S+ +yes +owner$/m);
  assert.match(shown.out, /^bots \(1\)\nbot id +name +type\n815553000470478850 +\S+ +pending$/m);
  assert.match(pack.out, /^owner +5$/m);
  assert.match(pack.out, /^bots \(1\)\n.*\n815553000470478850 /m);
  assert.equal([kept.code, kept.out], [1, '']);
  assert.match(kept.err, /still owns bots or servers: delete or transfer them first/);
  assert.equal(deleted, { code: 0, out: `team ${team} is deleted.\n`, err: '' });
  assert.equal([JSON.parse(after.out).bots, JSON.parse(after.out).deleted], [[], [keptBot]]);
  assert.match((await run(`teams show ${team}`)).err, /There is no such team/);
});

test('votes void-many shows a plan, voids exactly that when confirmed, and undo takes it back', async () => {
  const bot = '815553000470478851';
  const file = join(folder, 'voted.json');
  writeFileSync(file, JSON.stringify({ ...botBody, owner: '5' }));
  assert.is((await run(`bots add ${bot} --file ${file}`)).code, 0);
  await run(`bots approve ${bot}`);
  await asUser('5', `PUT /users/5/bots/${bot}/votes?upvote=true`, {});
  const readVotes = async (): Promise<number> =>
    ((await (await fetch(`${node.url}/bots/${bot}`)).json()) as { votes: number }).votes;
  const query = `--target-type bot --target-id ${bot} --since 2020-01-01T00:00:00Z --reason A_farm.`;

  const shown = await run(`votes void-many ${query}`);
  assert.equal([shown.code, shown.out], [2, ''], shown.err);
  assert.match(shown.err, /^summary +Voids 1 vote of 1 listing\. Their voters wait/m);
  assert.match(shown.err, /^bot +815553000470478851 +1 +0 +1 +0$/m);
  assert.match(shown.err, /add --yes/);
  assert.is(await readVotes(), 1);
  assert.match((await run(`votes void-many ${query} --dry-run`)).out, /^state +planned$/m);
  const { plan, voided } = JSON.parse((await run(`votes void-many ${query} --yes --json`)).out);
  assert.is(voided, 1);
  await until('voided', async () => (await readVotes()) === 0);
  assert.match((await run('votes plans')).out, new RegExp(`^${plan} +voided +A farm\\. +admin .* 1$`, 'm'));
  const undo = await run(`votes undo ${plan}`);
  assert.match(undo.err, /^Makes 1 vote of the plan "A farm\." count again/);
  assert.match(
    (await run(`votes undo ${plan} --yes`)).out,
    /^summary +1 vote of 1 void ones count again\.$/m,
  );
  await until('restored', async () => (await readVotes()) === 1);
  assert.equal(await run(`votes left-out ${plan}`), { code: 0, out: 'None.\n', err: '' });
});

test('Ctrl-C while a plan is made ends the command with 130 and shows the plan', async () => {
  const answer = { plan: '018f3b7e-0000-7000-8000-000000000001', state: 'planning', done: 0, votes: 0 };
  const busy = createServer((_, response) => {
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(answer));
  });
  const adminPort = await listen(busy);
  const args = ['votes', 'void-many', '--since', '2020-01-01T00:00:00Z', '--reason', 'A farm.', '--yes'];
  const { code, out } = await runOnStreams((streams) =>
    runOperation(args, { ...streams, signal: AbortSignal.abort() }, { ...config, adminPort }),
  );
  await close(busy);

  assert.is(code, 130);
  assert.match(out, /^state +planning$/m);
});

test('Ctrl-C ends a command that waits for a silent node with 130', async () => {
  const silent = createServer(() => undefined);
  const adminPort = await listen(silent);
  for (const [args, advice] of [
    [['users', 'list'], ''],
    [['bots', 'approve', '70'], ' It may have done the work: check with "audit list".'],
  ] as const) {
    const signal = AbortSignal.timeout(50);
    const startedMs = performance.now();
    const { code, err } = await runOnStreams((streams) =>
      runOperation(args, { ...streams, signal }, { ...config, adminPort }),
    );
    const milliseconds = performance.now() - startedMs;

    assert.is(code, 130);
    assert.match(err, /^Interrupted: http:\S+ did not answer\./);
    assert.is(err.trim().replace(/^.*did not answer\./, ''), advice);
    assert.ok(milliseconds < 15_000, `${milliseconds} ms`);
  }
  await close(silent);
});

test('help lists the commands of a group, and the options of a command', () => {
  assert.match(
    formatOperationHelp(['bots']),
    /^ {2}bots approve ID\n {6}Approves the listing: it is shown in lists and can receive votes\.$/m,
  );
  const help = formatOperationHelp(['bots', 'premium']);
  assert.match(help, /^Usage: rollcall ops bots premium ID --hours N \[options\]$/m);
  assert.match(help, /^ {2}ID +Id of a bot\.$/m);
  assert.match(help, /^ {2}--hours N +Required\. Number of hours; 0 ends premium\.$/m);
  for (const line of help.split('\n')) assert.ok(line.length <= 120, line);
});

test('a table shortens only prose, never ids, codes or times; empty columns are left out', () => {
  const id = '018f3b7e-0000-7000-8000-000000000001';
  const note = 'many words '.repeat(40);
  const text = formatAnswer({ rows: [{ id, at: '2026-03-01T12:00:00.000Z', note, nothing: '' }] });
  const [head, row = ''] = text.split('\n');

  assert.match(head ?? '', /^id +at +note$/);
  assert.ok(row.startsWith(`${id}  2026-03-01T12:00:00Z  many words`), row);
  assert.ok(row.length <= 110 && row.endsWith('…'), row);
  assert.is(formatAnswer({ rows: [] }), 'None.\n');
  // Of an audit: `votes v…` could be several commands.
  const entry = { id, operation: 'votes void-many', target: id, outcome: id, details: note };
  assert.match(formatAnswer({ rows: [entry] }), / {2}votes void-many {2}/);
  const bot = { name: note, version: '0.1.0 (42335a2c0a1b)', owner: `team ${id}`, target: id };
  assertIncludes(formatAnswer({ rows: [bot] }), `  0.1.0 (42335a2c0a1b)  team ${id}  ${id}`);
});

test('names and messages cannot send commands to the terminal, nor turn its text round', () => {
  const name = 'a\u001b]0;owned\u0007b\u009b2J\u202ec\nd\r\u007f';
  const shown = [
    formatAnswer({ rows: [{ id: '1', name }] }),
    formatAnswer({ rows: [name] }),
    formatAnswer({ name, rows: [{ name: [name] }] }),
    formatAnswer({ message: `${name} is approved.` }),
  ];

  for (const text of shown) {
    assert.not.match(text, /[^\n\P{Cc}]|[\u202a-\u202e\u2066-\u2069]/u, JSON.stringify(text));
    assert.match(text, 'a\\u001b]0;owned\\u0007b\\u009b2J\\u202ec');
  }
});

test.run();
