/**
 * Memory under clients that come and go, round after round: it reaches a plateau.
 *
 * Measured are the whole process, the heap of its main thread after a collection, and the linear memory of
 * the embedded SQL (WebAssembly, the largest anonymous mapping: it grows to what a statement needs at most,
 * and by its nature never shrinks). ROUNDS and VOTERS change the sizes.
 */
import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeFolder } from '../../support/folder.ts';
import { collectGarbage, inspected } from '../../support/inspector.ts';
import { printFigures } from '../harness/figures.ts';
import { askOnce, startVictim, type Victim } from './http-hostile-clients.ts';

const test = suite('memory over rounds');
const rounds = Number(process.env.ROUNDS ?? 27);
const voters = Number(process.env.VOTERS ?? 5_000);
const leaversPerRound = 50;
const churnedPerRound = 1_000;
/** The last rounds are compared with as many before them; by then V8 and the allocator have warmed up. */
const lastRounds = Math.floor(rounds / 4);
const growthMax = 1.04;
let victim: Victim;

test.before(async () => {
  victim = await startVictim(makeFolder('rollcall-plateau-'), voters, inspected());
});
test.after(async () => {
  await victim.node.stop();
});

interface Memory {
  /** MiB, each. */
  readonly all: number;
  readonly heap: number;
  readonly sql: number;
}

/** Resident MiB of the largest anonymous mapping. */
const largestMapping = (pid: number): number => {
  const mappings = readFileSync(`/proc/${pid}/smaps`, 'utf8').split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
  const residents = mappings
    .filter((mapping) => /^\S+ rw-p 0+ 00:00 0\s*$/m.test(mapping))
    .map((mapping) => Number(/^Rss:\s+(\d+)/m.exec(mapping)?.[1] ?? 0));
  return Math.max(...residents) / 1_024;
};

const measure = async (): Promise<Memory> => {
  await collectGarbage(victim.node);
  const text = await (await fetch(`${victim.node.adminUrl}/metrics`)).text();
  const heap = Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(text)?.[1]) / 2 ** 20;
  return { all: victim.memory(), heap, sql: largestMapping(victim.node.pid) };
};

/** Connections of their own; some leave in the middle of a long answer. */
const comeAndGo = async (): Promise<void> => {
  let left = churnedPerRound;
  const worker = async (index: number): Promise<void> => {
    for (let turn = 0; left > 0; turn++) {
      left -= 1;
      const leaves = turn < leaversPerRound / 50;
      if (leaves) await askOnce(victim.port, victim.allVoters, 1 + ((index * 2_000) % (voters * 8)));
      else await askOnce(victim.port, '/votes/credit-tiers');
    }
  };
  await Promise.all(Array.from({ length: 50 }, (_, index) => worker(index)));
};

const least = (memories: readonly Memory[], part: keyof Memory): number =>
  Math.min(...memories.map((memory) => memory[part]));

test(`${rounds} rounds of clients that come and go end on a plateau`, async () => {
  const memories: Memory[] = [await measure()];
  for (let round = 1; round <= rounds; round++) {
    await comeAndGo();
    await victim.answers();
    memories.push(await measure());
  }
  const columns = (part: keyof Memory) => memories.map((memory) => memory[part].toFixed(0)).join(' ');
  for (const part of ['all', 'heap', 'sql'] as const) {
    printFigures(`memory over ${rounds} rounds, ${part}, MiB`, { columns: columns(part) });
  }

  const before = memories.slice(-2 * lastRounds, -lastRounds);
  const after = memories.slice(-lastRounds);
  for (const part of ['all', 'heap', 'sql'] as const) {
    const growth = least(after, part) / least(before, part);
    assert.ok(growth < growthMax, `${part} grew by ${growth.toFixed(2)}: ${columns(part)}`);
  }
});

test.run();
