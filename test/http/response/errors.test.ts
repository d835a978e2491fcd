/**
 * The mapping from errors to replies.
 *
 * Pure functions over the whole closed list of codes.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  changeOutcome,
  DomainError,
  type ErrorCode,
  errorStatuses,
  StorageError,
} from '../../../engine/errors.ts';
import { buildErrorReply, createValidationError } from '../../../http/response/errors.ts';
import { toStorageError } from '../../../storage/sql/errors.ts';

const test = suite('errors');

test('every code of the list has its status, its code and the request id in the body', () => {
  for (const [code, status] of Object.entries(errorStatuses)) {
    const reply = buildErrorReply(new DomainError(code as ErrorCode, 'Words.', { field: 'x' }), 'request-1');
    assert.is(reply.status, status);
    assert.equal(JSON.parse(reply.text), {
      message: 'Words.',
      context: { field: 'x', code, request_id: 'request-1' },
    });
  }
});

test('a fault of the whole says what it must be, other faults name their fields', () => {
  const { message } = createValidationError('body', { '': 'must have either one, or both' });

  assert.is(message, 'The body must have either one, or both.');
  const fields = createValidationError('query', { '/a': 'is missing', '/b': 'must be 1' });
  assert.is(fields.message, 'The query is not valid: /a, /b.');
});

const reasons = [
  ['unreachable', 503, 'store_unavailable'],
  ['busy', 503, 'store_unavailable'],
  ['uninitialised', 503, 'store_unavailable'],
  ['full', 503, 'overloaded'],
  ['closed', 503, 'draining'],
  ['row', 500, 'internal'],
  ['bug', 500, 'internal'],
] as const;
for (const [reason, status, code] of reasons) {
  test(`a store that is ${reason} → ${status} ${code}, and the cause is not revealed`, () => {
    const cause = new Error('SELECT secret FROM sessions at 10.0.0.5');
    const error = new StorageError('find', { outcome: 'unknown', reason, cause, detail: 'secret detail' });

    const reply = buildErrorReply(error, 'request-1');

    assert.is(reply.status, status);
    assert.is(reply.code, code);
    assert.ok(reply.log);
    assert.not.match(reply.text, /secret|SELECT|10\.0/);
    if (status === 503) {
      assert.is(JSON.parse(reply.text).context.outcome, 'unknown');
      assert.match(reply.headers, /Retry-After: [1-9]/);
    }
  });
}

test('a change that lost against others of the same thing → 503 overloaded, and no log line', () => {
  for (const code of ['40001', '40P01', '55P03']) {
    const lost = toStorageError('edit', Object.assign(new Error('lost'), { code }));
    for (const error of [lost, changeOutcome(lost, 'unknown')]) {
      const reply = buildErrorReply(error, 'request-1');
      assert.equal([reply.status, reply.code, reply.log], [503, 'overloaded', false], code);
      assert.is(JSON.parse(reply.text).context.outcome, error.outcome);
    }
  }
});

test('damage → 503 with Retry-After of a minute, and no log line per request', () => {
  const damaged = new StorageError('find', { outcome: 'not_applied', reason: 'damaged' });
  for (const error of [
    damaged,
    new StorageError('again', { outcome: 'unknown', reason: 'unreachable', cause: damaged }),
  ]) {
    const reply = buildErrorReply(error, 'request-1');
    assert.is(reply.status, 503);
    assert.is(reply.code, 'store_unavailable');
    assert.is(JSON.parse(reply.text).context.outcome, error.outcome);
    assert.not(reply.log);
  }
  assert.match(buildErrorReply(damaged, 'request-1').headers, 'Retry-After: 60');
});

test('a 503 says what to do, by its outcome', () => {
  const words = (outcome: 'not_applied' | 'unknown'): string =>
    JSON.parse(
      buildErrorReply(new StorageError('find', { outcome, reason: 'unreachable' }), 'request-1').text,
    ).message;

  assert.match(words('not_applied'), /Nothing was changed: try again/);
  assert.match(words('unknown'), /not known: look before you send it again/);
});

test('any other error → 500 that reveals nothing, and is logged', () => {
  for (const thrown of [new Error('secret'), new TypeError('secret'), 'secret', null, undefined]) {
    const reply = buildErrorReply(thrown, 'request-1');
    assert.is(reply.status, 500);
    assert.ok(reply.log);
    assert.not.match(reply.text, /secret/);
  }
});

test('Retry-After is in whole seconds, rounded up', () => {
  const reply = buildErrorReply(new DomainError('vote_wait', 'Wait.', {}, 1.2), 'request-1');

  assert.is(reply.headers, '\r\nRetry-After: 2');
});

test('only an invalid token has X-Session-Invalid', () => {
  const withHeader = Object.keys(errorStatuses).filter((code) =>
    buildErrorReply(new DomainError(code as ErrorCode, ''), 'r').headers.includes('X-Session-Invalid: true'),
  );

  assert.equal(withHeader, ['token_invalid']);
});

test.run();
