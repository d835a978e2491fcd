/**
 * The vote log as the client library yields it: no page ends within a request.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLedger } from '../../storage/ledger/ledger.ts';
import { openWorld } from '../http/api/world.ts';
import { addBot, addUser } from '../storage/catalogue/directory.ts';
import { vote } from '../storage/ledger/world.ts';
import { loadClient } from './built.ts';

const test = suite('the vote log of the client');
const world = await openWorld();
const library = await loadClient();
test.after(() => world.close());

test('the votes of one request are in one page of the log, and in one group', async () => {
  await addUser(world.sql, 'robin');
  const ref = await addBot(world.sql, 'bot-pages');
  const votes = Array.from({ length: 102 }, (_, index) =>
    vote(ref, 70_000 + index, {
      user: index === 100 ? 'u99' : `u${index}`,
      atMs: index === 100 ? 99 : index,
    }),
  );
  await createLedger(world.sql).flush({ entities: [], votes });
  const client = library.createClient({ url: `http://127.0.0.1:${world.port}` });
  const { value } = await library.log(client, { type: 'bot', id: 'bot-pages' }, { after: 'oldest' }).next();
  const groups = library.groupByRequest([...(value?.votes ?? [])].reverse());
  assert.equal([value?.votes.length, groups.length, groups[0]?.length], [101, 100, 2]);
});

test.run();
