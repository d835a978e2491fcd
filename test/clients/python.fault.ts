/**
 * The Python libraries of other directories that PyPI still has, unchanged but for the lines of the client
 * guide: each posts, and checks and lists votes where it can. Needs Python and PyPI.
 */
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeFolder } from '../support/folder.ts';
import { reportSkipped } from '../support/needing-suite.ts';
import { createPythonEnvironment, listPythons, readOutput } from '../support/python-environment.ts';
import { ann, ben, changeLines, createBot, openDirectory, runProgram, showBot, voter } from './libraries.ts';

const test = suite('Python libraries of other directories');

interface PythonLibrary {
  readonly library: string;
  readonly version: string;
  /** topggpy needs one before 3.10 for its waits, discordbotlist-py 3.12. */
  readonly python: string | undefined;
  readonly program: string;
  readonly check: (printed: ReturnType<typeof JSON.parse>) => void;
  readonly shown: readonly unknown[];
}

const pythons = listPythons();
const libraries: readonly PythonLibrary[] = [
  {
    library: 'topggpy',
    version: '1.4.0',
    python: pythons[0],
    program: 'use_topggpy.py',
    check: ([stats, voted, votes, weekend, text]) => {
      assert.equal(stats, { server_count: 7, shard_count: 2, shards: [4, 3] });
      assert.equal(voted, [true, false]);
      assert.equal(votes, [{ ...voter, id: +voter.id }]);
      assert.is(weekend, 'bool');
      assert.match(text, /^The token is/);
    },
    shown: [7, 0, 2],
  },
  {
    library: 'discordbotlist-py',
    version: '1.0.1',
    python: pythons.at(-1),
    program: 'use_discordbotlist.py',
    check: (printed) => assert.is(printed, 'Failed to post stats: 401'),
    shown: [3, 30, 0],
  },
];

const useLibrary = async ({
  library,
  version,
  python,
  program,
  check,
  shown,
}: PythonLibrary): Promise<void> => {
  const inside = createPythonEnvironment(python ?? '', [`${library}==${version}`, 'discord.py']);
  const where = 'import sysconfig; print(sysconfig.get_path("purelib"))';
  const directory = await openDirectory();
  try {
    const folder = readOutput(inside, ['-c', where]);
    assert.is(changeLines(folder, { host: directory.host, libraries: [library] }), 1);
    const id = '400000000000000001';
    const token = await createBot(directory, id);
    const place = fileURLToPath(new URL(`./python/${program}`, import.meta.url));
    const env = { ...directory.trust, token, id, ann, ben };
    check(await runProgram([inside, place], { cwd: dirname(place), env }));
    assert.equal(await showBot(directory, id), shown);
  } finally {
    await directory.close();
  }
};

const canInstall = (python: string | undefined): boolean =>
  readOutput(python ?? '', [
    '-m',
    'pip',
    'download',
    '--no-deps',
    '--dest',
    makeFolder('rollcall-pip-'),
    'flit_core',
  ]) !== '';

for (const entry of libraries) {
  const title = `${entry.library} ${entry.version}`;
  test(title, async () => {
    if (canInstall(entry.python)) await useLibrary(entry);
    else reportSkipped(title, 'this machine has no Python for it, or no PyPI');
  });
}

test.run();
