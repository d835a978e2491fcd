/**
 * A restart of two nodes, one after the other, behind the shipped HAProxy under load (F30). More of it is in
 * rolling.fault.ts. Four nodes are started: time limit: 240 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { printLine } from '../nodes/fleet.ts';
import { rollOver } from './rolling.ts';

const test = suite('rolling restart');

test('two nodes restarted under load behind HAProxy: no request fails, nothing is lost', async () => {
  // Longer than the default: a busy machine may keep HAProxy from looking for a while.
  const { requests, failures, wrong, stopMsMax } = await rollOver({ nodes: 2, rounds: 1, leaveMs: 4_000 });

  printLine(
    `rolling restart of 2 nodes | requests ${requests} | failed ${failures.length} | stop ms ${stopMsMax}`,
  );
  assert.equal(failures, []);
  assert.equal(wrong, []);
  assert.ok(requests > 100, `${requests} requests`);
});

test.run();
