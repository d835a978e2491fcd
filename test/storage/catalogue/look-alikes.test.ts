/**
 * Listings whose names look alike, by Unicode's table of confusable characters.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { computeSkeleton, findLookAlikes } from '../../../storage/catalogue/operator/look-alikes.ts';
import { addBot, addPack, addServer, addTeam, addUser, openDirectory, uuid } from './directory.ts';

const test = suite('names that look alike');
const directory = await openDirectory();
const { sql } = directory;
test.after(() => directory.close());

await addUser(sql, 'robin');
const addNamed = async (id: string, username: string): Promise<void> => {
  await addUser(sql, id, { username });
  await addBot(sql, id);
};
const team = uuid(1);
await addTeam(sql, team);
await addServer(sql, 'server1', { team_id: team });
await addPack(sql, 'pack1');

const listIds = async (name: string, id = 'new'): Promise<string[]> =>
  (await findLookAlikes(sql, { kind: 'bot', id, name })).map((found) => `${found.kind} ${found.id}`);

test('a name in other letters finds the one that it looks like, of every kind, and not itself', async () => {
  await addNamed('keepers', 'Keepers');
  await addNamed('cyrillic', '\u041aeepers');
  await sql`update teams set name = 'KEEPERS' where id = ${team}`;
  await sql`update servers set name = 'Kee\u0440ers'`;
  await sql`update packs set name = 'Kеepers'`;
  await addNamed('other', 'Keeper');

  const all = ['bot cyrillic', 'bot keepers', 'pack pack1', 'server server1', `team ${team}`];
  assert.equal(await listIds('\u039aeep\u0435rs'), all);
  assert.equal(
    await listIds('Keepers', 'keepers'),
    all.filter((each) => each !== 'bot keepers'),
  );
  assert.equal(await listIds('Keep rs'), []);
});

test('so do letters that look like two, digits, joiners and accents, in both directions', async () => {
  for (const [index, [name, other]] of [
    ['modern', 'rnodern'],
    ['Pay0ut', 'PayOut'],
    ['I1lusion', 'lllusion'],
    ['The longest of names', 'The longest \u03bff names'],
    ['Owl', 'O\u200dw\u2060l'],
    ['Caf\u00e9', 'C\u0430f\u00e9'],
    ['a.b*(c)[d]\\', '\u0430.b*(c)[d]\\'],
    ['\u{1F989} owls', '\u{1F989} \u03bfwls'],
  ].entries() as IterableIterator<[number, [string, string]]>) {
    await addNamed(`first${index}`, name);
    await addNamed(`second${index}`, other);
    assert.is(computeSkeleton(name), computeSkeleton(other), name);
    assert.equal(await listIds(name, `first${index}`), [`bot second${index}`], name);
    assert.equal(await listIds(other, `second${index}`), [`bot first${index}`], other);
  }
});

test('a name that shows nothing looks like no other', async () => {
  assert.equal(await listIds('\u3164\u200b'), []);
});

test.run();
