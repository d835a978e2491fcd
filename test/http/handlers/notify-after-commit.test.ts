/**
 * What a client is told when a change is made and the telling of it fails.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DomainError, StorageError } from '../../../engine/errors.ts';
import { notifyAfterCommit } from '../../../http/handlers/notify-after-commit.ts';

const test = suite('after a change');

const failure = (telling: Promise<unknown>): Promise<unknown> =>
  notifyAfterCommit(telling).catch((error) => error);

test('what was told is done', async () => {
  assert.is(await failure(Promise.resolve('told')), undefined);
});

test('a store that does not answer never makes a change that is made "not applied"', async () => {
  const notApplied = { outcome: 'not_applied' } as const;
  for (const [cause, code] of [
    [new StorageError('deliver', { ...notApplied, reason: 'unreachable' }), 'store_unavailable'],
    [new DomainError('overloaded', 'Try again.', notApplied, 5), 'overloaded'],
    [new DomainError('deadline_passed', 'Too late.', notApplied), 'deadline_passed'],
  ] as const) {
    const error = (await failure(Promise.reject(cause))) as DomainError;

    assert.is(error.code, code);
    assert.equal(error.context, { outcome: 'unknown' });
    assert.match(error.message, /The change is made/);
    assert.ok(error.retryAfterSeconds >= 1);
  }
});

test('any other failure stays what it is', async () => {
  const fault = new TypeError('ours');

  assert.is(await failure(Promise.reject(fault)), fault);
});

test.run();
