/**
 * A user of Redis with less than everything: the rules of docs/operators/needs.md are enough, each is needed,
 * and one that is taken away under way leaves nothing half done.
 * Runs a private real server.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { StorageError } from '../../../engine/errors.ts';
import { readLibrary } from '../../../storage/hot/redis/library.ts';
import { listRules } from '../../../storage/hot/redis/rights.ts';
import { openRedisStore, type RedisHotStore } from '../../../storage/hot/redis/store.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { makeFolder } from '../../support/folder.ts';
import { botsIn, clicksOf, initOf, publishAll, rejection, rules } from '../../support/redis-load.ts';
import { startRedis } from '../../support/redis-server.ts';

const test = suite('rights of a redis user');

const library = readLibrary();
const all = listRules(library);
const optional = /^&|^\+(publish|subscribe|unsubscribe|client|info|config|cluster|asking|readonly|select)/;
const server = await startRedis();
const admin = new Redis(server.url);
const url = server.url.replace('redis://', 'redis://narrow:secret@');
test.after(async () => {
  admin.disconnect();
  await server.dispose();
});

const grant = (given: readonly string[]) =>
  admin.call('ACL', 'SETUSER', 'narrow', 'reset', 'on', '>secret', ...given);

const unusedByCommits =
  'exists get hexists hget hgetall hscan lrange sismember smembers zcard zrange zrangebyscore zscore'.split(
    ' ',
  );

const [bot] = botsIn(1) as [ReturnType<typeof botsIn>[number]];
const commit = (store: RedisHotStore, sequence: number) => {
  const click = { kind: 'click', target: bot, visitor: String(sequence) } as const;
  return store.commit([{ shard: bot.shard, producer: 'p', sequence, items: [initOf(bot), click] }], rules);
};

test('docs/operators/needs.md has the rules as one line', () => {
  const document = readFileSync(new URL('../../../docs/operators/needs.md', import.meta.url), 'utf8');

  assertIncludes(document, `ACL SETUSER rollcall on >PASSWORD ${all.join(' ')}\n`);
});

test('all rules are enough; the start names each that is missing, with the line for it', async () => {
  await grant(all);
  await (await openRedisStore({ urls: [url] })).close();
  for (const rule of all.filter((name) => !optional.test(name))) {
    await grant(all.filter((name) => name !== rule));
    const { message } = await rejection(openRedisStore({ urls: [url] }));
    const line = /ACL SETUSER (narrow .*)$/.exec(message)?.[1] ?? `none: ${message}`;
    assertIncludes(line.split(' '), rule);
    await admin.call('ACL', 'SETUSER', ...line.split(' '));
    await (await openRedisStore({ urls: [url] })).close();
  }
});

test('a right that is taken away refuses whole calls, and the number may be used again', async () => {
  await grant(all);
  const store = await openRedisStore({ urls: [url] });
  await publishAll(store);
  await commit(store, 1);
  let sequence = 1;
  for (const command of ['fcall', ...library.commands]) {
    await admin.call('ACL', 'SETUSER', 'narrow', `-${command}`);
    sequence += 1;
    const meanwhile = await commit(store, sequence).catch(
      ({ outcome, reason }: StorageError) => `${outcome} ${reason}`,
    );
    if (typeof meanwhile === 'string') assert.is(`${command}: ${meanwhile}`, `${command}: not_applied busy`);
    // What only other functions read, a commit can do without.
    else assertIncludes(unusedByCommits, command);
    await admin.call('ACL', 'SETUSER', 'narrow', `+${command}`);
    const again = (await commit(store, sequence))[0]?.outcome;
    assert.is(again, typeof meanwhile === 'string' ? 'applied' : 'duplicate');
  }
  assert.equal(await clicksOf(store, [bot]), [[sequence, sequence]]);
  await store.close();
});

test('a command that the server does not have is named at the start', async () => {
  const settings = join(makeFolder('rollcall-renamed-'), 'renamed.conf');
  writeFileSync(settings, 'rename-command ZADD renamed');
  const lacking = await startRedis({ settings: [`include ${settings}`] });
  const { message } = await rejection(openRedisStore({ urls: [lacking.url] }));
  await lacking.dispose();

  assert.match(message, /the server lacks commands \(zadd\)/);
});

test.run();
