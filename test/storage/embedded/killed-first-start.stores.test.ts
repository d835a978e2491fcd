/**
 * A first start that is killed while a program of its own creates the database: the next one begins at once
 * and opens, though that program still runs, and no draft is left in the end.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openEmbeddedSql } from '../../../storage/embedded/pglite.ts';
import { makeFolder } from '../../support/folder.ts';
import { until } from '../../support/until.ts';

const test = suite('a first start that is killed');
const opener = fileURLToPath(new URL('./opener-child.ts', import.meta.url));

for (const filesMin of [1, 300, 700]) {
  test(`the next one opens, when ${filesMin} files were there`, async () => {
    const root = makeFolder('rollcall-first-');
    const directory = join(root, 'postgres');
    const listDrafts = () => readdirSync(root).filter((name) => name.includes('.new'));
    const countFiles = (draft: string) => readdirSync(join(root, draft), { recursive: true }).length;
    const child = fork(opener, [directory], { stdio: 'ignore' });
    await until('so much is there', () => listDrafts().some((draft) => countFiles(draft) >= filesMin));
    child.kill('SIGKILL');
    await once(child, 'exit');

    const opened = await openEmbeddedSql({ directory, preparedFolder: join(root, 'none') });
    const [row] = await opened.sql<{ one: number }[]>`select 1 as one`;
    await opened.close();
    assert.is(row?.one, 1);
    await until('the program of the first start has ended', () => listDrafts().length === 0);
  });
}

test.run();
