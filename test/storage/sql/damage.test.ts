/**
 * The damage watch: what counts as damage of SQL, and what only looks like it.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StorageError } from '../../../engine/errors.ts';
import { watchDamage } from '../../../storage/sql/damage.ts';

const test = suite('damage of SQL');

const fail = (code: string, message: string) => async (): Promise<never> => {
  throw Object.assign(new Error(message), { code });
};

test('damage is remembered', async () => {
  const watch = watchDamage({
    lasts: true,
    findOtherCause: () => '',
  });

  const error = await watch.run(fail('XX001', 'invalid page')).catch((reason: unknown) => reason);

  assert.not.instance(error, StorageError);
  assert.is(watch.met(), 'XX001: invalid page');
});

test('a lack of file descriptors is no damage, whatever code SQL gives it', async () => {
  const watch = watchDamage({
    lasts: true,
    findOtherCause: () => 'no descriptors: raise the limit',
  });

  for (const [code, message] of [
    ['58P02', 'could not create file "base/5/17620_vm": File exists'],
    ['58P01', 'could not open file "base/5/17620": No such file or directory'],
    ['XX000', 'could not create temporary file'],
  ] as const) {
    const error = await watch.run(fail(code, message)).catch((reason: unknown) => reason);
    assert.instance(error, StorageError);
    assert.is((error as StorageError).reason, 'busy');
    assert.match((error as StorageError).message, 'no descriptors: raise the limit');
  }
  assert.is(watch.met(), '');
});

test.run();
