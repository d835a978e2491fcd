/**
 * Which failures may have had an effect, and how they are reported: the whole table.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StorageError } from '../../../engine/errors.ts';
import { asStorage, toStorageError } from '../../../storage/sql/errors.ts';

const test = suite('sql errors');

const table: readonly (readonly [code: string, outcome: string, reason: string])[] = [
  ['40001', 'not_applied', 'busy'],
  ['40P01', 'not_applied', 'busy'],
  ['55P03', 'not_applied', 'busy'],
  ['57014', 'not_applied', 'busy'],
  ['25006', 'not_applied', 'busy'],
  ['53100', 'not_applied', 'full'],
  ['58030', 'not_applied', 'full'],
  ['53200', 'not_applied', 'busy'],
  ['53300', 'not_applied', 'busy'],
  ['57P01', 'unknown', 'unreachable'],
  ['57P02', 'unknown', 'unreachable'],
  ['57P03', 'not_applied', 'unreachable'],
  ['28P01', 'not_applied', 'unreachable'],
  ['28000', 'not_applied', 'unreachable'],
  ['3D000', 'not_applied', 'unreachable'],
  ['08006', 'unknown', 'unreachable'],
  ['40003', 'unknown', 'unreachable'],
  ['22003', 'not_applied', 'row'],
  ['22021', 'not_applied', 'row'],
  ['22P02', 'not_applied', 'row'],
  ['23505', 'not_applied', 'row'],
  ['23514', 'not_applied', 'row'],
  ['P0001', 'not_applied', 'bug'],
  ['42P01', 'not_applied', 'busy'],
  ['42501', 'not_applied', 'busy'],
  ['42703', 'not_applied', 'busy'],
  ['42704', 'not_applied', 'busy'],
  ['42883', 'not_applied', 'busy'],
  ['42P10', 'not_applied', 'busy'],
  ['3F000', 'not_applied', 'busy'],
  ['0A000', 'not_applied', 'busy'],
  ['26000', 'not_applied', 'busy'],
  ['55000', 'not_applied', 'busy'],
  ['57P04', 'not_applied', 'unreachable'],
  ['XX000', 'not_applied', 'damaged'],
  ['XX001', 'not_applied', 'damaged'],
  ['XX002', 'not_applied', 'damaged'],
  ['58000', 'not_applied', 'damaged'],
  ['58P01', 'not_applied', 'damaged'],
  ['CONNECTION_CLOSED', 'unknown', 'unreachable'],
  ['CONNECTION_DESTROYED', 'unknown', 'unreachable'],
  ['ECONNRESET', 'unknown', 'unreachable'],
  ['EPIPE', 'unknown', 'unreachable'],
  ['CONNECT_TIMEOUT', 'not_applied', 'unreachable'],
  ['ECONNREFUSED', 'not_applied', 'unreachable'],
  ['ENOENT', 'not_applied', 'unreachable'],
  ['EPROTO', 'unknown', 'unreachable'],
  ['ENETDOWN', 'unknown', 'unreachable'],
  ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'unknown', 'unreachable'],
  ['CERT_HAS_EXPIRED', 'not_applied', 'unreachable'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'not_applied', 'unreachable'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'not_applied', 'unreachable'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'not_applied', 'unreachable'],
  ['EPERM', 'not_applied', 'unreachable'],
  ['EMFILE', 'not_applied', 'busy'],
  ['EADDRNOTAVAIL', 'not_applied', 'busy'],
  ['CONNECTION_ENDED', 'not_applied', 'closed'],
  ['', 'not_applied', 'bug'],
];

for (const [code, outcome, reason] of table) {
  test(`${code || 'an error without a code'} → ${reason}, ${outcome}`, () => {
    const failure = toStorageError('ledger.flush', Object.assign(new Error('words'), { code }));

    assert.is(failure.outcome, outcome);
    assert.is(failure.reason, reason);
    assert.is(failure.operation, 'ledger.flush');
    assert.match(failure.message, 'words');
  });
}

test('an unreadable file means damage, an unwritable one means no room', () => {
  const reasonOf = (message: string): string =>
    toStorageError('ledger.flush', Object.assign(new Error(message), { code: '58030' })).reason;

  assert.is(reasonOf('could not read blocks 0..0 in file "base/5/1": Input/output error'), 'damaged');
  assert.is(reasonOf('could not extend file "base/5/1": Input/output error'), 'full');
});

test('a StorageError passes through, anything else thrown is wrapped', async () => {
  const inner = new StorageError('inner', { outcome: 'unknown', reason: 'closed' });
  assert.is(toStorageError('outer', inner), inner);
  try {
    await asStorage('outer', () => Promise.reject('a string'));
    assert.unreachable();
  } catch (error) {
    assert.instance(error, StorageError);
    assert.is(error instanceof StorageError && error.reason, 'bug');
  }
});

test.run();
