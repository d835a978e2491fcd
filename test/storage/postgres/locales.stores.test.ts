/**
 * Names are found and sorted the same whatever the locale of the database; the extension of the search may be
 * in any schema; an encoding other than UTF8 is refused.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createSearch } from '../../../storage/catalogue/lists/search.ts';
import { findPackSummary } from '../../../storage/catalogue/packs/packs.ts';
import { createSnapshots } from '../../../storage/catalogue/shared/cache.ts';
import { findTeamIdByName } from '../../../storage/catalogue/teams/teams.ts';
import { importLines } from '../../../storage/import/import.ts';
import { createDriver } from '../../../storage/sql/client.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import { openServerSql } from '../../../storage/sql/server.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { linesOf, pack, team, user } from '../import/store.ts';

const test = suite('locales of databases');
const server = await startPostgres();
const first = await server.database('first');
const admin = createDriver(first, { max: 1 });
test.after(async () => {
  await admin.end();
  await server.close();
});

const createDatabase = async (name: string, options: string): Promise<string> => {
  await admin.unsafe(`create database ${name} template template0 ${options}`);
  return first.replace(/first$/, name);
};

const names = [
  'INFINITY LIST',
  'Titan İstanbul',
  'IRMAK',
  'ΟΔΥΣΣΕΥΣ',
  'Äpfel',
  'ЖУК',
  'Zebra',
  'ébène',
  'ÇAY',
];
const spellings = [
  'infinity list',
  'TITAN istanbul',
  'ırmak',
  'οδυσσευς',
  'ÄPFEL',
  'жук',
  'ZEBRA',
  'ÉBÈNE',
  'çay',
];

/** What requests find in a database with these names. */
const readAnswers = async (url: string): Promise<string> => {
  const { sql, close } = await openServerSql(url);
  await migrate(sql);
  await importLines(sql, [
    ...linesOf(user(1)),
    ...names.flatMap((name, at) => linesOf(team(`team-${at}`, 1, { name }), pack(`pack-${at}`, { name }))),
  ]);
  const search = createSearch(sql, createSnapshots({ entriesMax: 1, ageMaxMs: 1 }), () => null);
  const find = async (text: string) => {
    const words = text.toLowerCase().split(' ');
    const page = await search.find({ words, tags: [], kind: 'pack', sort: 'name', page: 1 });
    return page?.rows.map(({ name }) => name);
  };
  const found = [];
  for (const text of spellings)
    found.push([
      text,
      await find(text),
      (await findPackSummary(sql, text))?.name,
      (await findTeamIdByName(sql, text)) !== null,
    ]);
  const sorted = await sql`select name from search_entries where kind = 'pack' order by name collate "C"`;
  await close();
  return JSON.stringify([found, sorted], null, 1);
};

const right = await readAnswers(await createDatabase('c_utf8', `locale 'C.utf8'`));

test('the same names are found and sorted alike in databases of five locales', async () => {
  assert.is(await readAnswers(await createDatabase('c_only', `locale 'C'`)), right);
  for (const name of names) assert.match(right, name);
  assert.not.match(right, 'null');
  assert.not.match(right, 'false');
  for (const [name, icu] of [
    ['turkish', 'tr-TR'],
    ['lithuanian', 'lt-LT'],
    ['swedish', 'sv-SE-u-kn'],
  ])
    assert.is(
      await readAnswers(
        await createDatabase(`${name}`, `locale_provider icu icu_locale '${icu}' locale 'C.utf8'`),
      ),
      right,
      name,
    );
});

test('letters are folded as JavaScript does, one by one', async () => {
  const { sql, close } = await openServerSql(first);
  await migrate(sql);
  const folds = await sql<{ letter: string; folded: string }[]>`
    select chr(code) as letter, fold_case(chr(code)) as folded from generate_series(1, 131071) as code
    where code not between 55296 and 57343`;
  await close();
  const other = { İ: 'i', ı: 'i', ς: 'σ' } as Readonly<Record<string, string>>;
  const wrong = folds.filter(({ letter, folded }) => folded !== (other[letter] ?? letter.toLowerCase()));
  assert.equal(wrong, []);
});

test('the search works with its extension in another schema, for a role that owns neither', async () => {
  const url = await createDatabase('hosted', `locale 'C.utf8'`);
  const root = createDriver(url, { max: 1 });
  await root
    .unsafe(`create schema extensions; create extension pg_trgm schema extensions; create role tenant login;
    grant create on schema public to tenant; grant usage on schema extensions to tenant`)
    .simple();
  await root.end();
  assert.is(await readAnswers(url.replace('//rollcall@', '//tenant@')), right);
});

test('an encoding other than UTF8 is refused by its name', async () => {
  const url = await createDatabase('latin', `encoding 'LATIN1' locale 'C'`);
  assert.match(String(await openServerSql(url).catch(String)), /encoding of this database is LATIN1.*UTF8/);
});

test.run();
