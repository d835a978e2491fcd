/**
 * What a start must answer to an address that it refuses: one sentence, in time.
 */
import * as assert from 'uvu/assert';
import { openServerSql } from '../../../storage/sql/server.ts';

/** The one sentence that names what to use instead. */
export const namesRemedy = /^DATABASE_URL: [^.]*transaction mode[^.]*session port[^.]*direct address[^.]*\.$/;

/** The message of a refused start. Fails when it takes longer than the 3 s that operators are promised. */
export const refuse = async (url: string): Promise<string> => {
  const startedMs = performance.now();
  const message = await openServerSql(url).then(
    async ({ close }) => {
      await close();
      return 'it was opened';
    },
    (error: Error) => error.message,
  );
  assert.ok(performance.now() - startedMs < 3_000, 'within 3 s');
  return message;
};
