/**
 * The JavaScript libraries of other directories, from npm and unchanged but for the lines of the client
 * guide: each posts, checks a vote and lists votes where it can. Needs the registry of npm.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { makeFolder } from '../support/folder.ts';
import { createSuiteNeeding } from '../support/needing-suite.ts';
import {
  ann,
  ben,
  changeLines,
  createBot,
  type Directory,
  openDirectory,
  runProgram,
  showBot,
  voter,
} from './libraries.ts';

const versions = {
  '@top-gg/sdk': '3.1.6',
  'topgg-autoposter': '2.0.2',
  discordbotlist: '1.1.1',
  'dblapi.js': '2.4.1',
  dbots: '11.1.0',
  blapi: '3.1.2',
  'discord.js': '14.28.1',
};
const folder = makeFolder('rollcall-libraries-');

const test = createSuiteNeeding('JavaScript libraries of other directories', () => {
  const packages = Object.entries(versions).map(([name, version]) => `${name}@${version}`);
  const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--ignore-scripts', ...packages];
  execFileSync('npm', args, { stdio: 'pipe', timeout: 300_000 });
});

let directory: Directory;
let bots = 0;
test.before(async () => {
  directory = await openDirectory();
  const libraries = Object.keys(versions);
  assert.is(changeLines(join(folder, 'node_modules'), { host: directory.host, libraries }), 6);
});
test.after(() => directory.close());

/** Runs a program with a bot of its own; it may use `token`, `id`, `print` and `failure`. */
const runLibrary = async (
  program: string,
): Promise<{ id: string; printed: ReturnType<typeof JSON.parse> }> => {
  bots += 1;
  const id = `20000000000000000${bots}`;
  const token = await createBot(directory, id);
  const printed = await runScript(id, token, program);
  return { id, printed };
};

const runScript = (id: string, token: string, program: string): ReturnType<typeof runProgram> => {
  const script = `const { token, id } = process.env;
    const print = (value) => console.log(JSON.stringify(value));
    const failure = (promise) => promise.then(() => 'none', (error) => error.message);
    (async () => { ${program} })();`;
  const env = { ...directory.trust, token, id };
  return runProgram([process.execPath, '-e', script], { cwd: folder, env });
};

test('@top-gg/sdk posts, checks and lists votes, and tells what a wrong token means', async () => {
  const { id, printed } = await runLibrary(`
    const { Api } = require('@top-gg/sdk');
    const api = new Api(token);
    await api.postStats({ serverCount: 70, shardCount: 2 });
    const votes = await api.getVotes();
    print([await api.getStats(id), await api.hasVoted('${ann}'), await api.hasVoted('${ben}'), votes,
      typeof await api.isWeekend(), await failure(new Api('wrong').postStats({ serverCount: 1 })),
      await failure(api.getBot(id))]);`);

  assert.equal(printed, [
    { serverCount: 70, shardCount: 2, shards: [] },
    true,
    false,
    [voter],
    'boolean',
    '401 Unauthorized (You need a token for this endpoint)',
    '404 Not Found',
  ]);
  assert.equal(await showBot(directory, id), [70, 0, 2]);
});

test('topgg-autoposter posts the shard of a client of discord.js, and one without shards', async () => {
  const post = (shard: string) => `
    const { Client, GatewayIntentBits } = require('discord.js');
    const { AutoPoster } = require('topgg-autoposter');
    const post = async (shard, shardCount, guilds) => {
      const shards = shardCount && { shards: 0, shardCount };
      const client = new Client({ intents: [GatewayIntentBits.Guilds], ...shards });
      client.shard = shard;
      for (let guild = 0; guild < guilds; guild++) client.guilds.cache.set(String(guild), {});
      const poster = AutoPoster(token, client, { startPosting: false });
      const posted = new Promise((resolve, reject) => poster.on('posted', resolve).on('error', reject));
      await poster.post();
      return posted;
    };
    print([${shard}]);
    setImmediate(() => process.exit());`;
  const sharded = await runLibrary(post('await post({ ids: [0] }, 2, 3), await post({ ids: [1] }, 2, 4)'));
  const whole = await runLibrary(post('await post(null, undefined, 5)'));

  assert.equal(sharded.printed[1], { serverCount: 4, shardId: 1, shardCount: 2 });
  assert.equal(await showBot(directory, sharded.id), [7, 0, 2]);
  assert.equal(await showBot(directory, whole.id), [5, 0, 1]);
});

test('discordbotlist posts and lists votes', async () => {
  const { id, printed } = await runLibrary(`
    const { DBLClient } = require('discordbotlist');
    const adapter = { botId: id, getBotStats: () => ({ guilds: 12, users: 340, voice_connections: 1 }) };
    const client = new DBLClient(token, adapter);
    client.on('error', () => {});
    await client.postBotStats();
    const wrong = new DBLClient('wrong', adapter).on('error', () => {});
    const cause = await wrong.postBotStats().catch((error) => error.context.error.message);
    print([await client.fetchRecentVotes(), cause]);`);

  const [{ total, votes }, cause] = printed;
  assert.equal([total, votes.length, votes[0].id, votes[0].username], [1, 1, ann, voter.username]);
  assert.is(cause, 'Unauthorized');
  assert.equal(await showBot(directory, id), [12, 340, 0]);
});

test('dblapi.js posts shards, checks and lists votes', async () => {
  const { id, printed } = await runLibrary(`
    const DBL = require('dblapi.js');
    const api = new DBL(token);
    await api.postStats(9, 0, 2);
    await api.postStats(8, 1, 2);
    print([await api.getStats(id), await api.hasVoted('${ann}'), await api.hasVoted('${ben}'),
      await api.getVotes(),
      await failure(new DBL('wrong').postStats(1))]);`);

  const [stats, ...others] = printed;
  assert.equal(stats, { server_count: 17, shard_count: 2, shards: [9, 8] });
  assert.equal(others, [true, false, [voter], '401 Unauthorized']);
  assert.equal(await showBot(directory, id), [17, 0, 2]);
});

test('dbots posts by two of its services, checks and lists votes', async () => {
  const { id, printed } = await runLibrary(`
    const { Poster, Service } = require('dbots');
    const apiKeys = { topgg: token, discordbotlist: token };
    const create = (shard) => new Poster({ clientID: id, shard, apiKeys });
    await create({ id: 0, count: 2 }).postManual('topgg', { serverCount: 5 });
    await create({ id: 1, count: 2 }).postManual('topgg', { serverCount: 6 });
    await create({ id: 1, count: 2 }).postManual('discordbotlist', { serverCount: 7, userCount: 90 });
    const api = new (Service.get('topgg'))(token);
    const replies = [api.userVoted(id, '${ann}'), api.getBotVotes(id), api.getBotStats(id)];
    print((await Promise.all(replies)).map(({ data }) => data));`);

  const [check, votes, stats] = printed;
  assert.equal([check.voted, votes.length, stats.server_count], [1, 1, 12]);
  assert.equal(await showBot(directory, id), [12, 90, 2]);
});

const shardCount = 16;
const toServers = (shardId: number): number => 100 + shardId;

/** Posts all shards, each by a process of its own, at the same time. */
const postRound = (id: string, token: string): Promise<unknown> =>
  Promise.all(
    Array.from({ length: shardCount }, (_, shardId) =>
      runScript(
        id,
        token,
        `const blapi = require('blapi');
        blapi.setBotblock(false);
        blapi.setLogging({ logLevel: 16 });
        const keys = { '${directory.host}': token, 'listing.example': token };
        await blapi.manualPost(${toServers(shardId)}, id, keys, ${shardId}, ${shardCount});
        print('posted');`,
      ),
    ),
  );

test('sixteen processes of BLAPI add up, and no total falls after the first post with an id', async () => {
  const id = '300000000000000001';
  const token = await createBot(directory, id);
  await directory.world.ask('POST', '/bots/stats', { token, body: { servers: 50 } });
  const seen: number[] = [];
  const state = { ended: false };
  const watch = async (): Promise<void> => {
    while (!state.ended) {
      const { json } = await directory.world.ask('GET', `/bots/${id}/shards`);
      if (json.mode === 'sharded' || json.building !== null)
        seen.push(Number((await showBot(directory, id))[0]));
      await sleep(5);
    }
  };
  const watching = watch();
  await postRound(id, token);
  await postRound(id, token);
  state.ended = true;
  await watching;

  const sum = Array.from({ length: shardCount }, (_, shardId) => toServers(shardId)).reduce((a, b) => a + b);
  assert.equal(await showBot(directory, id), [sum, 0, shardCount]);
  assert.ok(seen.length > 0);
  assert.equal(
    seen,
    seen.toSorted((a, b) => a - b),
  );
});

test.run();
