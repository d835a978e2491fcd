/**
 * The note that names defaults which suit a directory only at home.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '../../ops/config/config.ts';
import { listHomeDefaults } from '../../ops/config/home-defaults.ts';
import { assertNoNote, assertNote } from '../support/notes.ts';
import { openWorld } from '../world.ts';

const test = suite('defaults that suit a directory at home');
const allSet = {
  PUBLIC_URL: 'https://directory.example.org',
  PUSH_CONTACT: 'mailto:operator@example.org',
  TRUSTED_PROXIES: '127.0.0.1',
  DEMO: 'off',
};
const namesOf = (settings: Readonly<Record<string, string>>): readonly string[] =>
  listHomeDefaults(readConfig(settings)).flatMap((note) => note.match(/\b[A-Z]+(_[A-Z]+)?(?= \()/g) ?? []);

test('at home there is none, and none where all are set', () => {
  assertNoNote('home_defaults', listHomeDefaults(readConfig({})));
  assertNoNote('home_defaults', listHomeDefaults(readConfig({ HOST: '::1' })));
  assertNoNote('home_defaults', listHomeDefaults(readConfig(allSet)));
});

test('each that is not set is named', () => {
  for (const name of ['PUSH_CONTACT', 'TRUSTED_PROXIES', 'DEMO'])
    assert.equal(namesOf({ ...allSet, [name]: '' }), [name]);
  assert.equal(namesOf({ PUBLIC_URL: 'https://directory.example.org' }), [
    ...['PUSH_CONTACT', 'TRUSTED_PROXIES', 'DEMO'],
  ]);
  assert.equal(namesOf({ HOST: '0.0.0.0' }), ['PUBLIC_URL', 'PUSH_CONTACT', 'DEMO']);
  assert.equal(namesOf({ HOST: '0.0.0.0', DATABASE_URL: 'postgres://r@127.0.0.1/r' }), [
    ...['PUBLIC_URL', 'PUSH_CONTACT'],
  ]);
});

test('what push services get is in the note', () => {
  const [https = ''] = listHomeDefaults(readConfig({ ...allSet, PUSH_CONTACT: '' }));
  assert.match(https, /push services get https:\/\/directory\.example\.org,/);
  const plain = { ...allSet, PUBLIC_URL: 'http://directory.example.org', PUSH_CONTACT: '' };
  assert.match(listHomeDefaults(readConfig(plain)).join(), /mailto:operator@rollcall\.invalid/);
});

test('the start and /readyz say it', async () => {
  const node = await openWorld({ settings: { PUBLIC_URL: 'https://directory.example.org' } });
  const { notes } = (await (await fetch(`${node.adminUrl}/readyz`)).json()) as {
    readonly notes: readonly string[];
  };
  assertNote('home_defaults', notes);
  assertNote('home_defaults', node.notes);
  await node.close();
});

test.run();
