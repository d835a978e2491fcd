/**
 * The Python client: its package installed into empty environments of the oldest Python that it promises and
 * of the newest on this machine, and used there against a complete Rollcall, with the objects of discord.py,
 * and by the type checker.
 *
 * Needs Python and the packages `discord.py`, `mypy` and `flit_core` of PyPI; skipped without them.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildPythonTypes } from '../../http/openapi/client-types.ts';
import {
  createWebhookSecret,
  toWebhookBody,
  toWebhookHeaders,
} from '../../http/outbound/webhooks/formats.ts';
import { pythonTools, writePythonPackage } from '../../ops/cli/client-package-python.ts';
import { openWorld, type World } from '../http/api/world.ts';
import { upvote } from '../http/outbound/webhooks/sample-events.ts';
import { addBot, addUser } from '../storage/catalogue/directory.ts';
import { makeFolder } from '../support/folder.ts';
import { reportSkipped } from '../support/needing-suite.ts';
import { createPythonEnvironment, listPythons, readOutput } from '../support/python-environment.ts';

const test = suite('Python client');
const run = promisify(execFile);
const toPath = (place: string): string => fileURLToPath(new URL(`../../${place}`, import.meta.url));
const tests = toPath('test/client/python');
const packages = makeFolder('rollcall-python-');

const pythons = listPythons();
const chosenPythons = [...new Set([pythons[0], pythons.at(-1)])].filter((path) => path !== undefined);

/** Opens a Rollcall with some bots and users. Resolves to it, and to what the tests need to know of it. */
const openDescribedWorld = async (): Promise<{ world: World; described: string }> => {
  const world = await openWorld();
  const tokens: Record<string, string> = {};
  for (const user of ['robin', 'ann', 'ben']) {
    await addUser(world.sql, user);
    tokens[user] = await world.token('user', user);
  }
  for (let number = 1; number <= 9; number += 1) {
    await addBot(world.sql, `bot${number}`);
    tokens[`bot${number}`] = await world.token('bot', `bot${number}`);
  }
  const secret = createWebhookSecret();
  const body = toWebhookBody('standard', upvote) ?? '';
  const sent = { format: 'standard', id: upvote.id, sentAtSeconds: Math.floor(Date.now() / 1_000) } as const;
  const headers = toWebhookHeaders({ ...sent, body, secrets: [secret] });
  const url = `http://127.0.0.1:${world.port}`;
  return { world, described: JSON.stringify({ url, tokens, webhook: { secret, headers, body } }) };
};

/** Runs Python there; rejects with what it printed when it fails. */
const runPython = async (python: string, args: readonly string[], described = ''): Promise<string> => {
  const environment = { ...process.env, WORLD: described, PYTHONDONTWRITEBYTECODE: '1' };
  const options = { cwd: tests, env: environment, timeout: 180_000 };
  const result = await run(python, args, options).catch((error) => {
    throw new Error(`${args.join(' ')}:\n${error.stdout}${error.stderr}`);
  });
  return result.stdout;
};

test('its types are those of docs/openapi.json (npm run document writes them)', () => {
  const document = JSON.parse(readFileSync(toPath('docs/openapi.json'), 'utf8'));

  const written = readFileSync(toPath('http/client-python/rollcall_client/_types.py'), 'utf8');
  assert.is(written, buildPythonTypes(document));
});

test('without the tools it says what to install', () => {
  assert.throws(() => writePythonPackage(packages, 'no-such-python'), /pip install build==.* flit_core==/);
});

const readmeOutput = new RegExp(
  [
    "2 \\[\\{'id': 0, 'servers': 3, 'users': 30\\}, \\{'id': 1, 'servers': 3, 'users': 30\\}\\]",
    `True \\d+ 1234`,
    '401 token_invalid',
    'ann voted up',
    '1234',
    `${upvote.data.user.username} voted, ${upvote.id}`,
    '204 401',
    "\\['offline', 'offline'\\]",
  ].join('\\n'),
);

const useWheel = async (python: string, wheel: string): Promise<void> => {
  const inside = createPythonEnvironment(python, [join(packages, wheel), 'discord.py', 'mypy']);
  const { world, described } = await openDescribedWorld();
  try {
    await runPython(inside, ['-m', 'unittest', '--failfast'], described);
    const readme = toPath('http/client-python/README.md');
    assert.match(await runPython(inside, ['run_readme.py', readme], described), readmeOutput);
  } finally {
    await world.close();
  }
  const strict = ['-m', 'mypy', '--strict', '--cache-dir', makeFolder('rollcall-mypy-')];
  await runPython(inside, [...strict, '-p', 'rollcall_client', '-m', 'typed']);
};

const useSource = async (python: string, source: string): Promise<void> => {
  const inside = createPythonEnvironment(python, [join(packages, source)]);
  const facts = 'version("rollcall-client"), requires("rollcall-client")';
  const program = `import rollcall_client; from importlib.metadata import *; print(${facts})`;

  assert.is(await runPython(inside, ['-c', program]), '0.1.0 None\n');
};

/** Whether packages can be had: asked with the smallest one of those that are needed. */
const hasPackages = (): boolean => {
  const args = ['-m', 'pip', 'download', '--no-deps', '-d', makeFolder('rollcall-pypi-'), 'flit_core'];
  return chosenPythons.length > 0 && readOutput(chosenPythons[0] as string, args) !== '';
};

if (!hasPackages())
  test('it is installed and used', () =>
    reportSkipped('Python client', 'this machine has no Python 3.9 or newer, or no PyPI'));
else {
  const builder = createPythonEnvironment(chosenPythons.at(-1) as string, pythonTools);
  const [wheel = '', source = ''] = writePythonPackage(packages, builder);
  test('equal sources give equal packages', () => {
    const again = makeFolder('rollcall-python-');
    for (const name of writePythonPackage(again, builder))
      assert.ok(readFileSync(join(again, name)).equals(readFileSync(join(packages, name))));
  });
  for (const python of chosenPythons) {
    test(`${python}: its wheel does what it promises, its examples run, its types are strict`, () =>
      useWheel(python, wheel));
    test(`${python}: it installs from its sources`, () => useSource(python, source));
  }
}

test.run();
