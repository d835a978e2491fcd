/**
 * The plan of a bench run: who is measured where, how rounds fit into the time, and that no vote is sent
 * twice.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseArguments } from '../../bench/arguments.ts';
import { buildRequests } from '../../bench/load/schedule.ts';
import { pickLastCore, placements } from '../../bench/machine/places.ts';
import { computeUsedSeconds, countSteadyUsers, type SteadyPlan } from '../../bench/measure/steady.ts';
import {
  countTargetUsers,
  planSeconds,
  planTurns,
  sumUsedSeconds,
  sumWarmUpSeconds,
  usersPerConnection,
  warmUp,
} from '../../bench/plan.ts';
import { findScenario } from '../../bench/scenarios/all.ts';
import { createDirectory } from '../../bench/scenarios/directory.ts';
import { pluck } from '../support/pluck.ts';

const test = suite('bench plan');
const quick = parseArguments(['--quick']);

const named = (name: 'stats' | 'page', round: number): string[] =>
  planTurns(quick, placements, { name, round }).map(({ server, placement }) => `${server} ${placement}`);

test('a quick run measures CPU on one core, and requests/s of the two that are compared by it', () => {
  assert.equal(named('stats', 2), [
    'bare one-core',
    'rollcall one-core',
    'fastify-redis one-core',
    'rollcall free',
    'fastify-sql free',
  ]);
  assert.equal(named('page', 2), ['bare one-core', 'rollcall one-core']);
});

test('who goes first alternates', () => {
  assert.equal(named('page', 1), [...named('page', 2)].reverse());
});

test('a machine that cannot place processes measures everybody where the system puts them', () => {
  const turns = planTurns(quick, [null], { name: 'stats', round: 2 });

  assert.equal(pluck(turns, 'server'), ['bare', 'rollcall', 'fastify-redis', 'fastify-sql']);
});

test('a run short of time makes rounds shorter, and leaves some out only when that is not enough', () => {
  const left = { round: 4, turns: 2, seconds: 100, betweenSeconds: 0.2 };

  assert.is(planSeconds(quick, left), quick.measureSeconds);
  assert.is(Math.round(planSeconds(quick, { ...left, seconds: 2.4 }) * 100), 30);
  assert.is(planSeconds(quick, { ...left, seconds: 0.1 }), 0.2);
  assert.is(planSeconds(quick, { ...left, seconds: -1 }), 0);
  assert.is(planSeconds(quick, { ...left, round: 3, seconds: -1 }), 0.2);
});

test('a run without a limit takes exactly the requested time', () => {
  const options = parseArguments(['--limit', '0', '--seconds', '7']);

  assert.is(planSeconds(options, { round: 2, turns: 9, seconds: 1, betweenSeconds: 1 }), 7);
});

for (const only of ['vote,mixed', 'mixed']) {
  test(`no vote of ${only} is sent twice in a run, over warm-up, rounds and scenarios`, () => {
    const options = parseArguments(['--only', only, '--rounds', '2', '--connections', '4', '--bots', '100']);
    const users = usersPerConnection(options) * options.connections;
    const directory = createDirectory({ bots: options.bots, users });
    const sent = new Set<string>();
    let votes = 0;
    const send = (name: 'vote' | 'mixed', usedSeconds: number, seconds: number): void => {
      for (let connection = 0; connection < options.connections; connection++) {
        const round = {
          directory,
          round: 1,
          usedSeconds,
          connection,
          connections: options.connections,
          seconds,
        };
        for (const { method, path } of findScenario(name).requestsOf(round)) {
          if (method !== 'PUT') continue;
          votes += 1;
          sent.add(path);
        }
      }
    };

    for (const name of ['vote', 'mixed'] as const) {
      if (!options.scenarios.includes(name)) continue;
      for (let turn = 0; turn < warmUp.turnsMax.rollcall; turn++) {
        send(name, sumWarmUpSeconds(options, name, turn), warmUp.seconds + options.warmupSeconds);
      }
      for (const round of [1, 2]) {
        for (const placement of placements) {
          const usedSeconds = sumUsedSeconds(options, { name, round, placement });
          send(name, usedSeconds, options.warmupSeconds + options.measureSeconds);
        }
      }
    }

    assert.ok(votes > 200, `${votes}`);
    assert.is(sent.size, votes);
  });
}

test('the users of a tokens file suffice for the printed command', () => {
  const options = parseArguments(['--url', 'http://127.0.0.1:1', '--tokens', 'file', '--connections', '8']);
  const users = countTargetUsers(options);
  const directory = createDirectory({ bots: options.bots, users });
  const seconds = options.warmupSeconds + options.measureSeconds;
  const lastRound = { directory, round: 1, connection: 7, connections: 8, seconds };
  const build = (bots: number) =>
    findScenario('mixed').requestsOf({
      ...lastRound,
      directory: { ...directory, bots: directory.bots.slice(0, bots) },
      usedSeconds: (2 * options.rounds - 1) * seconds,
    });

  assert.ok(build(options.bots).length > 0);
  assert.throws(() => build(options.bots / 4), /would have voted for every bot/);
});

test('no vote at a steady rate is sent twice', () => {
  const plan: SteadyPlan = {
    atOnce: 'all',
    scenarios: ['vote'],
    rates: [50, 1_000],
    rounds: 2,
    seconds: 5,
    lowSeconds: 12,
  };
  const users = countSteadyUsers(plan, 100);
  const order = { scenario: 'vote', routing: 'random', urls: [''], leadSeconds: 2, isUniform: true } as const;
  const directory = createDirectory({ bots: 100, users });
  let usedSeconds = 0;
  const orders = [
    { rate: 1_000, seconds: 16 },
    { rate: 50, seconds: 12 },
    ...[50, 50, 1_000, 1_000].map((rate) => ({ rate, seconds: 5 })),
  ];
  const votes = orders.flatMap(({ rate, seconds }) => {
    const built = buildRequests({ ...order, directory, rate, seconds, usedSeconds });
    usedSeconds += computeUsedSeconds(rate, seconds);
    return built;
  });

  assert.is(votes.length, 1_000 * 18 + 50 * 14 + (2 * 50 + 2 * 1_000) * 7);
  assert.is(new Set(votes.map(({ path }) => path)).size, votes.length);
});

test('the shared core is one that this process may use', () => {
  assert.is(pickLastCore('0-3'), '3');
  assert.is(pickLastCore('4'), '4');
  assert.is(pickLastCore('0-3,8'), '8');
});

test.run();
