/**
 * What a client reads when a change is committed and its delivery to the hot store fails.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DomainError, StorageError } from '../../../engine/errors.ts';
import { notifyAfterCommit } from '../../../http/api/shared/notify-after-commit.ts';

const test = suite('after a change');

const failure = (delivery: Promise<unknown>): Promise<unknown> =>
  notifyAfterCommit(delivery).catch((error) => error);

test('a delivered change resolves', async () => {
  assert.is(await failure(Promise.resolve('delivered')), undefined);
});

test('a store that does not answer never turns a committed change into "not applied"', async () => {
  const notApplied = { outcome: 'not_applied' } as const;
  for (const [cause, code] of [
    [new StorageError('deliver', { ...notApplied, reason: 'unreachable' }), 'store_unavailable'],
    [new DomainError('overloaded', 'Try again.', notApplied, 5), 'overloaded'],
    [new DomainError('deadline_passed', 'Too late.', notApplied), 'deadline_passed'],
  ] as const) {
    const error = (await failure(Promise.reject(cause))) as DomainError;

    assert.is(error.code, code);
    assert.equal(error.context, { outcome: 'unknown' });
    assert.match(error.message, /The change is saved/);
    assert.ok(error.retryAfterSeconds >= 1);
  }
});

test('any other failure is passed on', async () => {
  const fault = new TypeError('ours');

  assert.is(await failure(Promise.reject(fault)), fault);
});

test.run();
