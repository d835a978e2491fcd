/**
 * Single flight: who shares a call, and who does not.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createSingleFlight } from '../../../engine/tools/single-flight.ts';
import { pluck } from '../../support/pluck.ts';

const test = suite('single flight');

test('callers of one key share a call, those of another key do not', async () => {
  const flights = createSingleFlight<string>();
  const { promise, resolve } = Promise.withResolvers<string>();
  let calls = 0;
  const start = () => {
    calls++;
    return promise;
  };

  const results = [flights.share('a', start), flights.share('a', start), flights.share('b', start)];
  assert.is(calls, 2);
  assert.is(flights.count(), 2);
  assert.is(flights.get('a'), results[0]);
  resolve('done');

  assert.equal(await Promise.all(results), ['done', 'done', 'done']);
  assert.is(flights.count(), 0);
  assert.is(await flights.share('a', () => Promise.resolve('again')), 'again');
});

test('a failure reaches those that waited for it and no later caller', async () => {
  const flights = createSingleFlight<number>();
  const fail = () => flights.share('a', () => Promise.reject(new Error('away')));

  const outcomes = await Promise.allSettled([fail(), fail()]);
  assert.equal(pluck(outcomes, 'status'), ['rejected', 'rejected']);
  assert.is(await flights.share('a', () => Promise.resolve(1)), 1);
});

test('a detached call is not shared, and does not end the one after it', async () => {
  const flights = createSingleFlight<number>();
  const [first, second] = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];

  const old = flights.share('a', () => first.promise);
  flights.detachAll();
  const young = flights.share('a', () => second.promise);
  first.resolve(1);

  assert.is(await old, 1);
  assert.is(flights.get('a'), young);
  second.resolve(2);
  assert.is(await young, 2);
});

test.run();
