/**
 * Load on a server that already runs: what it needs to be there, and what its report says.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseArguments } from '../../bench/arguments.ts';
import { runTarget } from '../../bench/commands/target.ts';
import { renderHtml } from '../../bench/report/html.ts';
import { createLive } from '../../bench/report/live.ts';
import { describeSuite, type SuiteResult } from '../../bench/report/suite.ts';
import { createDirectory } from '../../bench/scenarios/directory.ts';
import { startBare } from '../../bench/servers/rollcall.ts';
import type { Target } from '../../bench/servers/target.ts';
import { makeFolder } from '../support/folder.ts';
import { pluck } from '../support/pluck.ts';
import { toText } from './samples.ts';

const test = suite('bench target');
const folder = makeFolder('rollcall-bench-target-');
const tokens = join(folder, 'tokens.json');

writeFileSync(tokens, JSON.stringify(createDirectory({ bots: 200, users: 4 })));
const server = await startBare();
test.after(() => server.stop());

const run = async (url: string, words: readonly string[] = []) => {
  const options = parseArguments(['--url', url, '--tokens', tokens, ...words]);
  const result: SuiteResult = {
    ...{ options, load: 'autocannon', rows: [], steady: [], notes: [], moments: [], problems: [] },
  };
  await runTarget(result, options.target as Target, createLive({ write: () => true } as never));
  return result;
};

test('a server that runs gets the load, and the report speaks of no CPU and no ratio', async () => {
  const words = ['--only', 'stats,vote', '--rounds', '1', '--connections', '2', '--seconds', '0.5'];

  const result = await run(server.url, words);

  const { parts, ...report } = describeSuite(result);
  const text = toText({ parts, ...report });
  assert.equal(pluck(result.rows, 'scenario'), ['stats', 'vote']);
  assert.match(text, /vote +rollcall/);
  assert.not.match(text, /CPU|Rollcall ÷/);
  assert.not.match(
    renderHtml(parts, report.charts?.() ?? { wide: [], others: [] }),
    /Server CPU per request|Rollcall ÷/,
  );
});

test('a scenario that cannot be measured leaves the figures of the others', async () => {
  const words = ['--only', 'stats,vote', '--rounds', '1', '--connections', '4', '--seconds', '0.5'];

  const result = await run(server.url, words);

  const { parts, ...report } = describeSuite(result);
  const text = toText({ parts, ...report });
  assert.equal(pluck(result.rows, 'scenario'), ['stats']);
  assert.match(text, /stats +rollcall/);
  assert.match(text, /Not measured: vote: 4 connections need 8 users/);
});

test('a server that does not answer is reported at once', async () => {
  assert.match(await run('http://127.0.0.1:1').then(() => '', String), /does not answer/);
});

test.run();
