/**
 * Work that the driver rejects before it sends it, with an error that it kept: it is repeated once.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { repeatUnbegun, repeatUnsent } from '../../../storage/sql/driver-faults.ts';

const test = suite('faults of the driver');

/** Rejects with an error of this severity, so many times; then resolves. */
const createWork = (severity: string, failures: number) => {
  let calls = 0;
  return async (): Promise<number> => {
    calls += 1;
    if (calls <= failures) throw Object.assign(new Error('kept'), { severity });
    return calls;
  };
};

const endings = [
  ['FATAL', 1, 2],
  ['PANIC', 1, 2],
  ['FATAL', 2, 'kept'],
  ['ERROR', 1, 'kept'],
] as const;
for (const [severity, failures, end] of endings)
  test(`${failures} errors of severity ${severity} before anything is sent end as ${end}`, async () => {
    const statement = createWork(severity, failures);
    const begin = createWork(severity, failures);
    const pool = repeatUnbegun({
      begin: async (_options: string, task: (transaction: () => void) => unknown) => {
        const calls = await begin();
        await task(() => {});
        return calls;
      },
    });

    assert.is(await repeatUnsent(statement).catch(({ message }: Error) => message), end);
    assert.is(await pool.begin('', () => null).catch(({ message }: Error) => message), end);
  });

test.run();
