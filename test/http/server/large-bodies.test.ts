/**
 * Large bodies that are complete together: one per iteration of the event loop, in order.
 */
import { setImmediate as nextIteration } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { App } from '../../../http/app.ts';
import { LargeBodies, largeBytesMin } from '../../../http/server/large-bodies.ts';
import { answersIn, raw } from '../raw.ts';
import { openWorld, realClock } from '../world.ts';

const test = suite('large bodies');

test('one body per iteration, in the order of arrival, also of those that arrive meanwhile', async () => {
  const bodies = new LargeBodies();
  const done: string[] = [];
  bodies.add(() => {
    done.push('one');
    bodies.add(() => done.push('four'));
  });
  for (const name of ['two', 'three']) bodies.add(() => done.push(name));

  assert.equal(done, []);
  for (const name of ['one', 'two', 'three', 'four']) {
    await nextIteration();
    assert.is(done.at(-1), name);
  }
  assert.is(done.length, 4);
});

test('a large body is read whole, whether it arrives in one chunk or in many', async () => {
  const app = { clock: realClock, settings: { bodyBytesMax: 1_000_000 } } as unknown as App;
  const world = await openWorld({ app });
  for (const length of [largeBytesMin - 1, largeBytesMin + 1, 900_000]) {
    const body = `"${'x'.repeat(length - 2)}"`;
    const head = `POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`;
    const answer = await raw(world.port, head + body);
    assert.is(answersIn(answer.text)[0]?.body, `{"body":${body}}`);
  }
  await world.close();
});

test.run();
