/**
 * Bots that are added, moved, deleted and given tokens by concurrent requests on a Postgres server. The
 * embedded store runs one transaction at a time, so only here can two decisions be concurrent.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StorageError } from '../../../engine/errors.ts';
import type { TeamActor } from '../../../engine/rules/members.ts';
import type { NewBot } from '../../../storage/catalogue/bots/bot-edits.ts';
import { createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { addMember, addTeam, addUser, newSession } from '../catalogue/directory.ts';
import { openDatabase } from './database.ts';

const test = suite('bot edits on postgres');
const { sql } = await openDatabase(test);
let count = 0;
const rounds = 10;
const users = ['robin', 'wren', 'finch', 'swift', 'crane'];

const catalogue = createCatalogue(sql);
for (const user of users) await addUser(sql, user);
const actor = (id: string): TeamActor => ({ kind: 'user', id, limits: [] });
const addNewTeam = async (members: readonly string[], permissions = ['owner']): Promise<string> => {
  const id = `team-${++count}`;
  await addTeam(sql, id);
  for (const user of members) await addMember(sql, id, { user, permissions });
  return id;
};
const makeFields = (fields: Partial<NewBot> = {}): NewBot => {
  const botId = fields.botId ?? `81555300047${String(++count).padStart(5, '0')}`;
  return {
    botId,
    clientId: botId,
    extraLinks: [],
    invite: 'https://example.org',
    library: 'any',
    long: 'Long words.',
    nsfw: false,
    prefix: '!',
    short: 'Short words.',
    staffNote: null,
    tags: ['fun'],
    teamId: null,
    person: null,
    ...fields,
  };
};
const createNewBot = async (owner: string, teamId: string | null = null): Promise<string> => {
  const bot = makeFields({ teamId });
  assert.is((await catalogue.bots.edits.create(bot, actor(owner))).kind, 'done');
  return bot.botId;
};
const unchanged = {
  ...{ captchaOptOut: null, extraLinks: null, invite: null, library: null, long: null },
  ...{ nsfw: null, prefix: null, short: null, tags: null },
};
const transfer = (botId: string, by: string, teamId: string) =>
  catalogue.bots.edits.transfer({ botId, actor: actor(by) }, teamId);
const remove = (botId: string, by: string) => catalogue.bots.edits.remove({ botId, actor: actor(by) });
const readOwners = (botId: string) =>
  sql<{ owner_id: string | null; team_id: string | null }[]>`
    select owner_id, team_id from bots where bot_id = ${botId}`;
/** Counts rows that a deleted bot must not leave behind. */
const countLeftovers = async (botId: string): Promise<number> => {
  const rows = await sql`
    select 1 from totals where kind = 'bot' and entity_id = ${botId}
    union all select 1 from vanity where target_id = ${botId}
    union all select 1 from sessions where target_type = 'bot' and target_id = ${botId}`;
  return rows.length;
};
const sortKinds = (outcomes: readonly { readonly kind: string }[]) => outcomes.map(({ kind }) => kind).sort();

test('of concurrent requests to add a bot or to use a client id, one succeeds', async () => {
  for (let round = 0; round < rounds; round++) {
    const same = makeFields();
    const added = await Promise.all(users.map((user) => catalogue.bots.edits.create(same, actor(user))));
    const clients = await Promise.all(
      users.map((user) => {
        const bot = makeFields({ clientId: `99${same.botId.slice(2)}` });
        return catalogue.bots.edits.create(bot, actor(user)).then((outcome) => ({ bot, outcome }));
      }),
    );
    const refused = clients.filter(({ outcome }) => outcome.kind === 'client_taken');

    assert.equal(sortKinds(added), [...Array(4).fill('bot_taken'), 'done']);
    assert.is(refused.length, 4);
    for (const { bot } of refused) assert.is(await countLeftovers(bot.botId), 0);
  }
});

test('of two concurrent transfers, the second is judged by the result of the first', async () => {
  for (let round = 0; round < rounds; round++) {
    const [first, second] = [await addNewTeam(['robin']), await addNewTeam(['robin'])];
    const botId = await createNewBot('robin');
    // The user robin may transfer from and to both teams, so both transfers are allowed in any order.
    const both = await Promise.all([transfer(botId, 'robin', first), transfer(botId, 'robin', second)]);
    assert.equal(sortKinds(both), ['moved', 'moved']);

    const from = await addNewTeam(['robin', 'wren']);
    const [robins, wrens] = [await addNewTeam(['robin']), await addNewTeam(['wren'])];
    const other = await createNewBot('robin', from);
    const outcomes = await Promise.all([transfer(other, 'robin', robins), transfer(other, 'wren', wrens)]);
    const [owners] = await readOwners(other);

    assert.equal(sortKinds(outcomes), ['moved', 'permission_missing']);
    assert.is(owners?.team_id, outcomes[0].kind === 'moved' ? robins : wrens);
  }
});

const refused = ['stayed', 'unknown_team', 'permission_missing', 'unknown_bot'];
const waitedTooLong = (error: unknown): boolean =>
  error instanceof StorageError && (error.cause as { code?: string }).code === '55P03';

test('64 moves of a bot at once, with edits and deletions of teams: each is decided', async () => {
  const botId = await createNewBot('robin');
  const teams = await Promise.all(Array.from({ length: 16 }, () => addNewTeam(['robin'])));
  const edit = { botId, actor: actor('robin') };
  const changes = Array.from({ length: 64 }, (_, index) => {
    const teamId = teams[index % teams.length] as string;
    const others = [
      () => catalogue.teams.edits.remove({ teamId, actor: actor('robin') }),
      () => catalogue.bots.edits.edit(edit, { ...unchanged, prefix: `${index}` }),
    ];
    return [transfer(botId, 'robin', teamId), ...(index % 4 < 2 ? [others[index % 2]?.()] : [])];
  });
  const outcomes = await Promise.allSettled(changes.flat());
  const owners = await readOwners(botId);

  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') assert.ok(waitedTooLong(outcome.reason), String(outcome.reason));
    else assertIncludes(['moved', 'done', 'not_empty', 'not_found', ...refused], outcome.value?.kind ?? '');
  }
  assert.is(owners.length, 1);
  assert.is((await sql`select from teams where id = ${owners[0]?.team_id ?? ''}`).length, 1);
});

test('bots that two teams exchange are all moved', async () => {
  const [left, right] = [await addNewTeam(['robin']), await addNewTeam(['robin'])];
  const pairs = await Promise.all(
    Array.from({ length: rounds }, async () => [
      await createNewBot('robin', left),
      await createNewBot('robin', right),
    ]),
  );
  const outcomes = await Promise.all(
    pairs.flatMap(([leftBot = '', rightBot = '']) => [
      transfer(leftBot, 'robin', right),
      transfer(rightBot, 'robin', left),
    ]),
  );
  assert.equal(sortKinds(outcomes), Array(rounds * 2).fill('moved'));
});

test('a bot that is moved and deleted at once is either fully deleted or moved', async () => {
  for (let round = 0; round < rounds; round++) {
    const [from, to] = [await addNewTeam(['robin', 'wren']), await addNewTeam(['robin'])];
    const botId = await createNewBot('robin', from);
    const [moved, removed] = await Promise.all([transfer(botId, 'robin', to), remove(botId, 'wren')]);
    const owners = await readOwners(botId);

    if (removed.kind === 'done') {
      assert.equal([moved.kind, owners.length, await countLeftovers(botId)], ['unknown_bot', 0, 0]);
    } else {
      assert.equal([moved.kind, removed.kind], ['moved', 'permission_missing']);
      assert.is(owners[0]?.team_id, to);
    }
  }
});

test('a team is either deleted or gets the bot that is added to it or moved into it', async () => {
  for (let round = 0; round < rounds; round++) {
    for (const way of ['added', 'moved'] as const) {
      const team = await addNewTeam(['robin']);
      const bot = makeFields({ teamId: team });
      const botId = way === 'added' ? bot.botId : await createNewBot('robin');
      const [entered, removed] = await Promise.all([
        way === 'added' ? catalogue.bots.edits.create(bot, actor('robin')) : transfer(botId, 'robin', team),
        catalogue.teams.edits.remove({ teamId: team, actor: actor('robin') }),
      ]);
      const [owners] = await readOwners(botId);
      const teams = await sql`select from teams where id = ${team}`;

      if (removed.kind === 'done') {
        assert.equal([entered.kind, teams.length], ['unknown_team', 0]);
        assert.is(owners?.team_id ?? null, null);
        if (way === 'added') assert.is(await countLeftovers(botId), 0);
      } else {
        assert.equal([removed.kind, teams.length, owners?.team_id], ['not_empty', 1, team]);
      }
    }
  }
});

test('of concurrent deletions of a bot, one succeeds', async () => {
  for (let round = 0; round < rounds; round++) {
    const botId = await createNewBot('robin');
    const outcomes = await Promise.all(users.map(() => remove(botId, 'robin')));
    assert.equal(sortKinds(outcomes), ['done', ...Array(4).fill('unknown_bot')]);
    const again = await catalogue.bots.edits.create(makeFields({ botId }), actor('wren'));
    assert.is(again.kind, 'done');
  }
});

test('a token minted while its bot is deleted or transferred does not stay', async () => {
  const mint = async (botId: string, user: string, mintedWith: string | null = null) => {
    const mintedBy = mintedWith === null ? user : '';
    const session = newSession({ target: { kind: 'bot', id: botId }, mintedBy, mintedWith });
    const { kind: outcome } = await catalogue.sessions.insert(session, { apiSessionsMax: 100 });
    return { id: session.id, outcome };
  };
  for (let round = 0; round < rounds; round++) {
    const [team, other] = [await addNewTeam(['robin']), await addNewTeam(['robin', 'wren'], ['add_bots'])];
    const owned = await createNewBot('robin', round % 2 === 0 ? team : null);
    const parent = await mint(owned, 'robin');
    const mints = (botId: string) => [1, 2, 3].map((n) => mint(botId, 'robin', n === 3 ? parent.id : null));
    const moving = transfer(owned, 'robin', other);
    await Promise.all(mints(owned));
    assert.is((await moving).kind, 'moved');
    assert.is((await sql`select from sessions where target_id = ${owned}`).length, 0);
    assert.is((await mint(owned, 'robin')).outcome, 'refused');

    const doomed = await createNewBot('robin');
    const removing = remove(doomed, 'robin');
    await Promise.all(mints(doomed));
    assert.is((await removing).kind, 'done');
    assert.is(await countLeftovers(doomed), 0);
    assert.is((await mint(doomed, 'robin')).outcome, 'refused');
  }
});

test('concurrent edits of different fields all take effect', async () => {
  const botId = await createNewBot('robin');
  const request = { botId, actor: actor('robin') };
  const outcomes = await Promise.all([
    catalogue.bots.edits.edit(request, { ...unchanged, prefix: '?' }),
    catalogue.bots.edits.edit(request, { ...unchanged, tags: ['new'] }),
    catalogue.bots.edits.edit(request, { ...unchanged, nsfw: true }),
  ]);
  const [row] = await sql`select prefix, tags, nsfw from bots where bot_id = ${botId}`;

  assert.equal(sortKinds(outcomes), ['done', 'done', 'done']);
  assert.equal({ ...row }, { prefix: '?', tags: ['new'], nsfw: true });
});

test.run();
