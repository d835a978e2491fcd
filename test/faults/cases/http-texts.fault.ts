/**
 * Texts of users, known ones and 2,000 that are drawn: none costs more than three times the CPU of prose of
 * the same length, prints more than 450 KB, or holds the event loop, which a thread spares. `SEED=n` repeats
 * a run. time limit: 600 s
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRandom } from '../../../bench/shared/random.ts';
import { findRenderedText } from '../../../http/markdown/rendered-texts.ts';
import { renderUserText, textLimits } from '../../../http/markdown/user-text.ts';
import { drawText, hostileTexts, prose } from '../../http/markdown/hostile-texts.ts';
import { seed } from '../harness/fault-case.ts';

const test = suite('texts of users');
const drawn = 2_000;
const turnMsMax = 20;
const tries = 7;

/** The least CPU of some tries, in ms: others on the machine and the collector only add to it. */
const measure = (text: string, enoughMs = 0): number => {
  let best = Number.POSITIVE_INFINITY;
  for (let index = 0; index < tries && best > enoughMs; index++) {
    const before = process.cpuUsage();
    renderUserText(text);
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / 1_000);
  }
  return best;
};

test('the event loop is held by none of them', async () => {
  await findRenderedText('first');
  let longest = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 3; round++) {
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    // Others than in the round before: those are kept.
    for (const text of [prose, ...Object.values(hostileTexts)]) await findRenderedText(`${round}${text}`);
    delay.disable();
    longest = Math.min(longest, delay.max / 1_000_000);
  }
  console.log(`longest turn ${longest.toFixed(1)} ms`);
  assert.ok(longest < turnMsMax, String(longest));
});

test(`no text takes more than three times the CPU of prose (seed ${seed})`, () => {
  const random = createRandom(seed);
  for (let index = 0; index < 50; index++) renderUserText(prose);
  const known = Object.values(hostileTexts);
  const count = known.length + drawn;
  const tooMuch: string[] = [];
  let worst = 0;
  let usual = measure(prose);
  for (let index = 0; index < count; index++) {
    const text = known[index] ?? drawText(random);
    // The speed of a machine changes while others use it.
    if (index % 100 === 0) usual = measure(prose);
    let cpu = measure(text, 3 * usual);
    if (cpu > 3 * usual) [usual, cpu] = [measure(prose), measure(text)];
    const { html, steps } = renderUserText(text);
    worst = Math.max(worst, cpu / usual);
    const bytes = Buffer.byteLength(html);
    if (cpu <= 3 * usual && bytes <= textLimits.bytes && steps <= textLimits.steps) continue;
    tooMuch.push(`${cpu.toFixed(1)} ms, ${bytes} bytes: ${JSON.stringify(text.slice(0, 100))}`);
  }
  console.log(`${count} texts: at most ${worst.toFixed(2)} x prose, which takes ${usual.toFixed(1)} ms`);
  assert.equal(tooMuch, []);
});

test.run();
