/**
 * The operator's commands: valid and invalid arguments, exit codes, and the commands on real stores.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runCommandLine } from '../../../ops/cli/main.ts';
import { runMove } from '../../../ops/cli/move.ts';
import { commandHelps } from '../../../ops/cli/usage.ts';
import { readConfig } from '../../../ops/config/config.ts';
import { findNearest } from '../../../ops/config/nearest.ts';
import { openStores } from '../../../storage/open.ts';
import { toStorageError } from '../../../storage/sql/errors.ts';
import { createRunner, toMinute } from '../../storage/history/world.ts';
import { bot, linesOf, platformId, user, vote } from '../../storage/import/store.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { makeFolder } from '../../support/folder.ts';
import { makeSqlFolder } from '../../support/sql-template.ts';
import { runOnStreams } from './streams.ts';

const test = suite('operator commands');
const folder = makeFolder('rollcall-ops-');
test.after(() => stores.close());

/** Runs one command line in this process, on stores that stay open. */
const run = async (line: string, signal = new AbortController().signal) => {
  let opened = false;
  const ran = await runOnStreams((streams) =>
    runCommandLine(line.split(' ').filter(Boolean), { ...streams, signal }, (_terminal, _args, task) => {
      opened = true;
      return task({ stores });
    }),
  );
  return { ...ran, opened };
};

const config = { ...readConfig({}), dataDir: join(folder, 'lent') };
await makeSqlFolder(join(config.dataDir, 'postgres'));
const stores = await openStores(config, {
  clock: Date.now,
  onWarning: (message) => assert.unreachable(message),
});

test('without arguments it prints the usage as an error', async () => {
  const { code, out, err } = await run('');

  assert.equal([code, out], [2, '']);
  for (const { usage } of commandHelps) assertIncludes(err, usage);
});

for (const line of ['help', '--help', '-h']) {
  test(`${line} prints the usage as a result`, async () => {
    const { code, out, err } = await run(line);

    assert.equal([code, err], [0, '']);
    assert.match(out, /^Usage: rollcall ops COMMAND/);
  });
}

for (const line of ['help import', 'import --help', 'import FILE --help']) {
  test(`${line} explains one command`, async () => {
    const { code, out } = await run(line);

    assert.is(code, 0);
    assert.match(out, /^Usage: rollcall ops import FILE.*--skip-bad {3}write bad lines/s);
  });
}

for (const [line, expected] of [
  ['improt file', /no command "improt"\. Did you mean "import"\?/],
  ['help exprot', /Did you mean "export"\?/],
  [
    'destroy',
    /no command "destroy"\. The commands are import, .*restore, reflush, adopt, move, help; for a running/,
  ],
  ['import', /Usage: rollcall ops import FILE/],
  ['import one two', /Usage: rollcall ops import FILE/],
  ['inspect robot 1', /KIND must be one of bot, server, team, pack, not "robot"/],
  ['inspect bot', /Usage: rollcall ops inspect KIND ID/],
  ['export file --skip-bad', /Usage: rollcall ops export/],
  ['export file --csv', /Usage: rollcall ops export FILE/],
  ['export history', /Usage: rollcall ops export history FILE/],
  ['import file --fast', /Unknown option '--fast'\. See: rollcall ops help/],
] as const) {
  test(`"${line}" is refused: exit code 2, no store opened`, async () => {
    const { code, out, err, opened } = await run(line);

    assert.equal([code, out, opened], [2, '', false]);
    assert.match(err, expected);
  });
}

for (const args of [
  ['export', '', '--yes'],
  ['move', '--to-data', folder, '--to-database', ''],
]) {
  test(`${args[0]} with an empty argument, as of an unset variable, is refused: exit code 2`, async () => {
    const { code, err } = await runOnStreams((streams) => runCommandLine(args, streams));

    assert.is(code, 2);
    assert.match(err, new RegExp(`^Usage: rollcall ops ${args[0]}`));
  });
}

test('an export replaces no folder and no device, also with --yes', async () => {
  for (const path of [folder, '/dev/null']) {
    const { code, err, opened } = await run(`export ${path} --yes`);

    assert.equal(
      [code, err, opened],
      [1, `${path} is not a file. Name a file, or - for standard output.\n`, false],
    );
  }
});

test('a full disk is reported with the places that a command writes to', async () => {
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  const { code, err } = await runOnStreams((streams) =>
    runCommandLine(['export', '-'], streams, () => Promise.reject(full)),
  );

  assert.is(code, 1);
  assert.match(err, /^ENOSPC: .*, write\. Make room where it writes: .*DATA_DIR, or .* \(TMPDIR\)\.\n$/);
});

test('a move to Redis alone is refused before a store is opened', async () => {
  const to = { redis: 'redis://db', database: '', data: '', undo: false };
  const { code, err } = await runOnStreams((streams) => runMove(readConfig({}), streams, to));

  assert.is(code, 2);
  assert.match(err, /--to-redis needs --to-database/);
});

test('a name far from every command suggests none', () => {
  assert.is(findNearest('inspct', ['import', 'inspect']), 'inspect');
  assert.is(findNearest('frobnicate', ['import', 'inspect']), null);
});

const records = [user(1), bot(5, { upvotes: 3, user: { username: 'Lantern Polls' } }), vote(5, 2)];
const file = join(folder, 'directory.jsonl');

test('a missing file is a failure with a message', async () => {
  const { code, err } = await run(`import ${join(folder, 'none.jsonl')}`);

  assert.is(code, 1);
  assert.match(err, /There is no file .*none\.jsonl\./);
});

test('import reports what it added, and the second time what was already there', async () => {
  writeFileSync(file, linesOf(...records).join('\n'));

  const first = await run(`import ${file}`);
  const second = await run(`import ${file}`);

  assert.equal([first.code, second.code], [0, 0]);
  assert.match(first.out, /^3 lines in .*\nadded: 2 users, 1 bot, 1 vote\n$/);
  assert.match(second.out, /added: nothing\nalready there: 3\n$/);
});

test('a bad line is shown with its number and what to do', async () => {
  const path = join(folder, 'bad.jsonl');
  writeFileSync(path, `${linesOf(user(9)).join()}\nnonsense\n`);

  const stopped = await run(`import ${path}`);
  const skipped = await run(`import ${path} --skip-bad`);

  assert.is(stopped.code, 1);
  assert.match(
    stopped.err,
    /a bad line; the import has stopped\.\n {2}line 2: not valid JSON\n.*--skip-bad/s,
  );
  assert.is(skipped.code, 0);
  assert.match(skipped.out, /added: 1 user\nrejected: 1, see .*bad\.jsonl\.rejected\n$/);
});

test('a compressed import that was interrupted keeps the lines that it rejected before', async () => {
  const path = join(folder, 'long.jsonl.gz');
  const comments = Array.from({ length: 1_999 }, () => '# one of a batch');
  writeFileSync(path, gzipSync(['nonsense', ...comments, 'nonsense, too'].join('\n')));
  // The import looks before each batch, and the first one writes the file.
  const isBegun = { get: () => existsSync(`${path}.rejected`) };
  const signal = Object.defineProperty(new AbortController().signal, 'aborted', isBegun);
  const first = await run(`import ${path} --skip-bad`, signal);
  const second = await run(`import ${path} --skip-bad`);

  assert.equal([first.code, second.code], [130, 0]);
  assert.match(second.out, /resumed after line 2 000\n.*\nrejected: 1, see .*long\.jsonl\.gz\.rejected\n$/s);
  assert.match(
    readFileSync(`${path}.rejected`, 'utf8'),
    /^# line 1: .*\nnonsense\n# line 2001: .*\nnonsense, too\n$/,
  );
});

test('an interrupted import reports how to continue', async () => {
  const { code, out } = await run(`import ${file}`, AbortSignal.abort());

  assert.is(code, 130);
  assert.match(out, /interrupted: run the same command again/);
});

test('Ctrl-C while an import unpacks its input ends it with 130', async () => {
  const packed = `${file}.gz`;
  writeFileSync(packed, gzipSync(readFileSync(file)));

  for (const source of ['-', packed]) {
    const { code, out, err } = await run(`import ${source}`, AbortSignal.abort());

    assert.equal([code, out], [130, ''], err);
    assert.match(err, /^Interrupted\. .*can be given again\.\n$/);
  }
});

test('export into a missing folder is refused with a message', async () => {
  const { code, err } = await run(`export ${join(folder, 'nowhere', 'x.jsonl')}`);

  assert.is(code, 1);
  assert.match(err, /^Cannot write .*x\.jsonl: there is no such folder\.$/m);
});

test('export writes the same to a file and to standard output', async () => {
  const path = join(folder, 'out.jsonl');

  const toFile = await run(`export ${path}`);
  const toStream = await run('export -');

  assert.equal([toFile.code, toFile.out, toStream.code], [0, '', 0]);
  assert.is(readFileSync(path, 'utf8'), toStream.out);
  assert.is(statSync(path).mode & 0o777, 0o600);
  const lines = toStream.out.split('\n').slice(0, -1);
  const imported = lines.filter((line) => !line.startsWith('{"kind":"position"'));
  assert.is(imported.length, 6, 'its head, three users, a bot, a vote');
  assert.is(lines.length, 6 + 7, 'and the positions that a directory comes with');
  assert.not.ok(existsSync(`${path}.unfinished`));
});

test('export history writes each row of the history, as JSON lines or CSV', async () => {
  await createRunner(stores.sql).run(toMinute('2026-03-01T12:00Z'));
  const path = join(folder, 'history.csv');

  const json = await run('export history -');
  const csv = await run(`export history ${path} --csv --json`);

  assert.equal([json.code, csv.code], [0, 0]);
  const kinds = json.out.split('\n').map((line) => (line === '' ? '' : JSON.parse(line).kind));
  assert.equal(kinds, ['history_time', 'history', 'history_time', 'history', '']);
  assert.is(JSON.parse(csv.out).lines, 3);
  assert.match(readFileSync(path, 'utf8'), /^level,time,.*\r\nfine,2026-03-01T12:00:00.000Z,bot,\d+,0,/);
});

test('inspect shows one entity as text and as JSON', async () => {
  const text = await run(`inspect bots ${platformId(5)}`);
  const json = await run(`inspect bot ${platformId(5)} --json`);

  assert.equal([text.code, json.code], [0, 0]);
  assert.match(
    text.out,
    /\n {2}vanity +lantern-polls\n[\s\S]*\n {2}upvotes +3\n[\s\S]*Hot store\n {2}not there/u,
  );
  const { catalogue, totals, hot } = JSON.parse(json.out);
  assert.equal([catalogue.bot_id, totals.upvotes, hot], [platformId(5), 3, null]);
});

test('inspect of something unknown is a failure', async () => {
  const { code, err } = await run('inspect bot 1');

  assert.is(code, 1);
  assert.match(err, /There is no bot with the id 1\./);
});

/** Runs the real program on a data folder. */
const spawnOps = (directory: string, ...args: string[]) => {
  const main = fileURLToPath(new URL('../../../ops/cli/main.ts', import.meta.url));
  return spawnSync(process.execPath, [...process.execArgv, main, ...args], {
    encoding: 'utf8',
    env: { ...process.env, DATA_DIR: directory },
  });
};

test('the program opens the configured stores and exits with the exit code of the command', () => {
  const directory = join(folder, 'own');

  const mistaken = spawnOps(directory, 'improt');
  const imported = spawnOps(directory, 'import', file);

  assert.equal([mistaken.status, mistaken.stdout], [2, '']);
  assert.match(mistaken.stderr, /Did you mean "import"\?/);
  assert.equal([imported.status, imported.stderr], [0, '']);
  assert.match(imported.stdout, /added: 2 users, 1 bot, 1 vote/);
});

test('a dry run without a directory reports what an import would add, and makes none', () => {
  const directory = join(folder, 'never');
  const { status, stdout } = spawnOps(directory, 'import', file, '--dry-run');

  assert.equal([status, existsSync(directory)], [0, false]);
  assert.match(stdout, /^3 lines, to add: 2 users, 1 bot, 1 vote\nbad lines: 0\nNothing was written/);
});

test('while a server uses the data folder, commands name its process and change nothing', () => {
  const { status, stdout, stderr } = spawnOps(join(folder, 'lent'), 'export', '-');

  assert.equal([status, stdout], [1, '']);
  assert.match(stderr, new RegExp(`is in use by process ${process.pid}`));
});

test('a lost connection to a store ends a command with what to do', async () => {
  const cause = Object.assign(new Error('write CONNECTION_CLOSED 127.0.0.1:5432'), {
    code: 'CONNECTION_CLOSED',
  });
  for (const failure of [cause, toStorageError('import', cause)]) {
    const { code, err } = await runOnStreams((streams) =>
      runCommandLine(['export', '-'], { ...streams, signal: new AbortController().signal }, () =>
        Promise.reject(failure),
      ),
    );

    assert.is(code, 1);
    assert.match(
      err,
      /CONNECTION_CLOSED.*\. The connection to a store was lost.* can be given again \(.*\n$/,
    );
  }
});

test.run();
