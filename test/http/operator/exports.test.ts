/**
 * An import takes all that clients and operators may write: an export of it, imported into another
 * directory, is exported as the same bytes.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { importLines } from '../../../storage/import/import.ts';
import { dump, openTestStore } from '../../storage/import/store.ts';
import { botBody } from '../../support/bot-body.ts';
import { aboutBot, json, startLookupServer } from '../../support/lookup-server.ts';
import { openOperated } from './world.ts';

const test = suite('exports of what was written');
const server = await startLookupServer();
const world = await openOperated({ botLookup: { serviceUrl: server.serviceUrl } });
const store = await openTestStore();
const { done, sql } = world;
test.after(async () => {
  await world.close();
  await store.close();
  await server.close();
});

const owl = '\u{1F989}';
/** 512 characters. */
const longest = `https://example.org/${owl.repeat(492)}`;
const bot = '815553000470478851';

test('what is as long, as short or as odd as allowed survives a round trip', async () => {
  await done('PUT /users/robin', { username: owl.repeat(64) });
  const token = await world.token('user', 'robin');
  const extra_links = [{ name: owl.repeat(64), value: longest, icon: 'star' }];
  const body = { name: 'Owls', extra_links };
  const team = (await world.ask('POST', '/teams', { token, body })).json.team_id;
  const names = { username: owl.repeat(65), global_name: '\u200b', public_flags_array: ['', 'STAFF'] };
  const avatarURL = `https://example.org/${owl.repeat(200)}`;
  server.answer = () => json(aboutBot(bot, { id: bot, ...names, avatarURL }));
  await done(`PUT /bots/${bot}`, { ...botBody, invite: longest, extra_links, owner: 'wren' });
  const harbour = { name: 'Harbour', short: 'Where ships and their crews meet at night.' };
  await done('PUT /servers/715553000470478850', { ...harbour, team_owner: team, invite: longest });
  await done('PUT /blog/release_notes', { title: 'Notes', content: 'All of them.', author: 'robin' });
  const text = await dump(sql);
  const lines = text.split('\n').slice(0, -1);
  await store.clear();
  await importLines(store.sql, lines);

  assert.is(await store.dump(), text);
  const account = JSON.parse(lines.find((line) => line.includes(`"id":"${bot}"`)) ?? '{}');
  assert.equal([account.username, account.avatar ?? '', account.flags], [owl.repeat(64), '', ['STAFF']]);
});

test.run();
