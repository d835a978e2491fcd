/**
 * Every attack of attack-list.ts on either kind of stores, while an ordinary client reads and posts: it is
 * answered, in time; the node lives, and nothing acknowledged is lost. Prints a row per attack.
 * ATTACK_SECONDS is their length, ATTACK an expression for the names to run.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { printFigures } from '../harness/figures.ts';
import { type Arena, arenas } from './attack-arena.ts';
import { attacks } from './attack-list.ts';
import { faultsOf, type Outcome, runAttack } from './http-attacks.ts';

const test = suite('attacks');
const wanted = new RegExp(process.env.ATTACK ?? '');
const chosen = attacks.filter(({ name }) => wanted.test(name));
const rows = new Map<string, string[]>(chosen.map(({ name }) => [name, []]));

const toCells = ({ waits, harmless, alone, memory, lived }: Outcome): string[] => {
  const [worst, p99, beside] = [waits.worstMs, waits.p99Ms, harmless.worstMs].map((each) => each.toFixed(0));
  const withoutAttack = alone ? `, ${alone.worstOwnMs.toFixed(0)} alone` : '';
  const own = `${waits.worstOwnMs.toFixed(0)} with a core${withoutAttack}`;
  const baseline = `${own}; ${beside} beside harmless clients`;
  const [before, most, after] = [memory.before, memory.most, memory.after].map((each) => each.toFixed(0));
  return [
    `${worst} ms (p99 ${p99}; ${baseline})`,
    lived ? `${before} → ${after} MiB (at most ${most})` : `${before} → ${most} MiB`,
    lived ? 'yes' : 'no',
  ];
};

/** What else a row's attack did; the row itself is printed at the end. */
const print = (arena: Arena, { attack, waits, harvest, cpuMs }: Outcome): void => {
  const { answers, closed, closedMsMax, openMsMax } = harvest;
  const answered = Object.values(answers).reduce((sum, count) => sum + count, 0);
  const cpuUsEach = Math.round((cpuMs * 1_000) / Math.max(1, answered));
  const figures = { served: waits.answered, answers, cpuUsEach, closed, closedMsMax, openMsMax };
  printFigures(`${arena.stores}, ${attack.name}`, figures);
};

for (const { stores, open } of arenas) {
  let arena: Arena;
  test(`${stores}: a node starts`, async () => {
    arena = await open();
  });
  for (const attack of chosen) {
    test(`${stores}, ${attack.name}: an ordinary client is served as always`, async () => {
      const outcome = await runAttack(arena, attack);
      rows.get(attack.name)?.push(...toCells(outcome));
      print(arena, outcome);
      assert.equal(faultsOf(outcome), []);
    });
  }
  test(`${stores}: all that was acknowledged meanwhile is there, once`, async () => {
    try {
      printFigures(`after all attacks, ${stores}`, await arena.judge());
    } finally {
      await arena.close();
    }
  });
}

test.after(() => {
  for (const [name, cells] of rows) printFigures(`attack: ${name}`, { cells });
});

test.run();
