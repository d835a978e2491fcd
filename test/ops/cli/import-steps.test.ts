/**
 * An import through a running node, which a fake replaces here. With a real one: running.stores.test.ts.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { importLinesMax } from '../../../http/operator/stores.ts';
import { importThroughNode } from '../../../ops/cli/import-steps.ts';
import type { RunningNode } from '../../../ops/cli/running-node.ts';
import { ImportStopped } from '../../../storage/import/import.ts';
import { makeFolder } from '../../support/folder.ts';

const test = suite('import through a node');

test('bad lines are reported although the node is gone when the import ends', async () => {
  const path = join(makeFolder('rollcall-import-steps-'), 'bad.jsonl');
  writeFileSync(path, '{"kind":"user","id":"1"}\n');
  const gone = (): Promise<never> => Promise.reject(new Error('No node answers.'));
  const bad = [{ line: 1, reason: '"username" is missing' }];
  const node = {
    beginImport: async () => 1,
    importLines: async () => ({ added: {}, skipped: 0, toMend: {}, bad, milliseconds: 1 }),
    endImport: gone,
  } as unknown as RunningNode;
  const source = { path, title: 'bad.jsonl', rejectedPath: `${path}.rejected`, skipBad: false, mapped: null };
  const control = { progress: { update() {}, stop() {} }, signal: new AbortController().signal };

  const failure = await importThroughNode(node, source, control).catch((error: unknown) => error);
  assert.instance(failure, ImportStopped);
  assert.equal((failure as ImportStopped).badLines, [
    { line: 1, text: '{"kind":"user","id":"1"}', reason: '"username" is missing' },
  ]);
});

test('requests follow what lines cost: none takes long, and cheap lines go many at once', async () => {
  const path = join(makeFolder('rollcall-import-steps-'), 'many.jsonl');
  const lines = (kind: string) => `${`{"kind":"${kind}","text":"${'x'.repeat(80)}"}\n`.repeat(2_000)}`;
  writeFileSync(path, lines('dear') + lines('cheap'));
  const requests: { lines: number; milliseconds: number }[] = [];
  const node = {
    beginImport: async () => 1,
    importLines: async (_id: number, texts: readonly string[]) => {
      const milliseconds = texts.reduce((sum, text) => sum + (text.includes('dear') ? 2 : 0.02), 0);
      requests.push({ lines: texts.length, milliseconds });
      return { added: {}, skipped: 0, toMend: {}, bad: [], milliseconds };
    },
    endImport: async () => {},
  } as unknown as RunningNode;
  const source = {
    path,
    title: 'many.jsonl',
    rejectedPath: `${path}.rejected`,
    skipBad: false,
    mapped: null,
  };
  const control = { progress: { update() {}, stop() {} }, signal: new AbortController().signal };
  await importThroughNode(node, source, control);

  assert.is(
    requests.reduce((sum, request) => sum + request.lines, 0),
    4_000,
  );
  assert.ok(requests.slice(1).every(({ milliseconds }) => milliseconds <= 100));
  assert.is(Math.max(...requests.map((request) => request.lines)), importLinesMax);
});

test.run();
