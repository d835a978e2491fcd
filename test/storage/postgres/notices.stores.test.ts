/**
 * Notices on a Postgres server: transactions that end in another order than they began, a server that does
 * not answer, that restarts, or that writes more than a node reads at a time.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import { createNotices } from '../../../storage/catalogue/shared/notices.ts';
import { until } from '../../support/until.ts';
import { addBot, addTeam, addUser } from '../catalogue/directory.ts';
import { openDatabase } from './database.ts';

const test = suite('notices on a server');

const { sql, server } = await openDatabase(test);
await addUser(sql, 'robin');
for (const bot of ['bot1', 'bot2', 'bot3', 'bot4']) await addBot(sql, bot);
for (const team of ['team1', 'team2']) await addTeam(sql, team);

const edit = (bot: string) => sql`update bots set short = short || '.' where bot_id = ${bot}`;

/** An edit in a transaction that stays open until the test ends it. */
const openEdit = async (bot: string) => {
  let end = (_commits: boolean): void => {};
  const ended = new Promise<boolean>((resolve) => {
    end = resolve;
  });
  let writes = (): void => {};
  const written = new Promise<void>((resolve) => {
    writes = resolve;
  });
  const transaction = sql
    .begin(async (open) => {
      await open`update bots set short = short || '.' where bot_id = ${bot}`;
      writes();
      if (!(await ended)) throw new Error('rolled back');
    })
    .catch(() => undefined);
  await written;
  return (commits: boolean) => {
    end(commits);
    return transaction;
  };
};

const listen = async () => {
  const notices = createNotices(sql);
  const received: string[] = [];
  notices.subscribe(({ id }) => received.push(id));
  await notices.update();
  return {
    notices,
    read: async () => {
      assert.is(await notices.update(), true);
      return received.splice(0).sort();
    },
  };
};

test('an edit that began before others and is committed after them is announced, each once', async () => {
  const [first, dropped] = [await openEdit('bot1'), await openEdit('bot2')];
  const { read } = await listen();
  const second = await openEdit('bot3');
  await edit('bot4');

  assert.equal(await read(), ['bot4'], 'its number is higher than those of open transactions');
  await dropped(false);
  assert.equal(await read(), []);
  await second(true);
  assert.equal(await read(), ['bot3']);
  await first(true);
  assert.equal(await read(), ['bot1']);
  assert.equal(await read(), []);
});

test('a thousand edits in any order of commits are each announced once', async () => {
  const { read } = await listen();
  const received: string[] = [];
  let edits = 0;
  let editing = true;
  const editAll = async (bot: string): Promise<void> => {
    while (edits < 1_000) {
      edits += 1;
      await sql.begin(async (transaction) => {
        await transaction`update bots set short = short || '.' where bot_id = ${bot}`;
        for (let wait = Math.random() * 4; wait > 1; wait--) await transaction`select 1`;
      });
    }
  };
  const all = Promise.all(['bot1', 'bot2', 'bot3', 'bot4'].map(editAll)).finally(() => {
    editing = false;
  });
  while (editing) received.push(...(await read()));
  await all;
  received.push(...(await read()));

  assert.is(received.length, edits);
});

test('after more notices than are read at a time, what was cached before is read again', async () => {
  const { notices, read } = await listen();
  const nowMs = performance.now();
  assert.ok(Number.isFinite(notices.lastReadMs(nowMs, nowMs)));
  await sql`insert into notices (kind, id) select 'bot', 'x' || n from generate_series(1, 6000) as n`;
  await read();

  assert.is(notices.lastReadMs(nowMs, performance.now()), Number.NEGATIVE_INFINITY);
  await edit('bot1');
  assert.equal(await read(), ['bot1']);
});

test('while the server stands still, profiles are shown; edits appear once it goes on', async () => {
  const { teams } = createCatalogue(sql);
  const before = await teams.find('team1');
  server.signalAll('SIGSTOP');
  try {
    const endMs = performance.now() + 2_000;
    while (performance.now() < endMs) assert.is(await teams.find('team1'), before);
  } finally {
    server.signalAll('SIGCONT');
  }
  await sql`update teams set name = 'edited' where id = 'team1'`;
  await until('it is edited', async () => (await teams.find('team1'))?.name === 'edited', 1_000);
});

test('after a restart of the server, what was cached before is read again', async () => {
  const { notices } = await listen();
  const nowMs = performance.now();
  assert.ok(Number.isFinite(notices.lastReadMs(nowMs, nowMs)));
  await server.stop('immediate');
  await server.start();
  await until('it answers', () => notices.update());

  assert.is(notices.lastReadMs(nowMs, performance.now()), Number.NEGATIVE_INFINITY);
  assert.ok(Number.isFinite(notices.lastReadMs(performance.now(), performance.now())));
});

test.run();
