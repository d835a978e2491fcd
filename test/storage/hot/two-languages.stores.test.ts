/**
 * The rules that stand in TypeScript and in Lua give the same answers: windows of votes, votes that make
 * their voter wait, checks of uptime, the chain hash, and limits.
 *
 * The library is loaded with one more function, which calls its rules with the arguments of all cases. The
 * conformance suite compares whole stores; here each rule is alone, on times around its edges.
 */
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { extendChainHash } from '../../../engine/entity/history.ts';
import { emptyFacts, emptyTotals } from '../../../engine/entity/state.ts';
import { foldUptime } from '../../../engine/entity/uptime.ts';
import { findHoldingSinceMs, lastVoteFlags, selectWindow } from '../../../engine/entity/votes.ts';
import { limits } from '../../../engine/limits.ts';
import { readLibrary } from '../../../storage/hot/redis/library.ts';
import { names } from '../../../storage/hot/redis/slot-layout.ts';
import { startRedis } from '../../support/redis-server.ts';

const test = suite('rules in two languages');
const server = await startRedis();
const redis = new Redis(server.url);
test.after(async () => {
  redis.disconnect();
  await server.dispose();
});

const minuteMs = 60_000;
const dayMs = 86_400_000;
const windows = {
  standard: { waitMs: 12 * 3_600_000, perUser: 1 },
  premium: { waitMs: 4 * 3_600_000, perUser: 2 },
  weekend: { waitMs: 6 * 3_600_000, perUser: 3 },
};
const uptimeRules = {
  checkMs: 5 * minuteMs,
  freshMs: 15 * minuteMs,
  downtimes: [
    { fromMs: 40 * minuteMs, toMs: 55 * minuteMs },
    { fromMs: 100 * minuteMs, toMs: 101 * minuteMs },
  ],
};

/** Calls rules of the library; names in capitals are positions in a slot. */
const comparison = `
local rules = {
  standard = { 0, 1 }, premium = { 0, 2 }, weekend = { 0, 3 },
  checkMs = ${uptimeRules.checkMs}, freshMs = ${uptimeRules.freshMs},
  downtimes = { ${uptimeRules.downtimes.flatMap(({ fromMs, toMs }) => [fromMs, toMs]).join(', ')} },
}
local compared = {}
function compared.window(premiumUntilMs, atMs)
  return findWindow({ [PREMIUM_UNTIL] = premiumUntilMs }, atMs, rules)[2]
end
function compared.holding(votes, releasedBeforeMs)
  return findHoldingSince(votes, 0, 1e15, releasedBeforeMs)
end
function compared.chain(chainHash, producer, sequence)
  return extendChainHash(chainHash, producer, sequence)
end
function compared.uptime(listed, listedSinceMs, checkedMs, postedMs, status, nowMs)
  local slot = {
    [LISTED] = listed, [LISTED_SINCE] = listedSinceMs, [UPTIME_CHECKED_MS] = checkedMs,
    [LAST_STATS_POST_MS] = postedMs, [STATUS] = status, [UPTIME] = 0, [TOTAL_UPTIME] = 0,
  }
  foldUptime(slot, nowMs, rules)
  return { slot[UPTIME], slot[TOTAL_UPTIME], slot[UPTIME_CHECKED_MS] }
end
function compared.limits()
  -- As text: cjson writes 14 digits.
  return { digits(counterMax), clockAheadMaxMs, clockBehindMaxMs, bucketMs }
end
redis.register_function('compare', function(_, arguments)
  if not call then
    prepare()
  end
  local answers = {}
  for index, case in ipairs(cjson.decode(arguments[1])) do
    answers[index] = cjson.encode(compared[case[1]](unpack(case, 2)))
  end
  return answers
end)`;

const source = comparison.replace(/\b[A-Z][A-Z0-9_]+\b/g, (name) => String(names[name] ?? name));
await redis.function('LOAD', `${readLibrary().code}\n${source}`);

type Case = readonly [rule: string, ...args: unknown[]];
const runInLua = async (cases: readonly Case[]): Promise<readonly unknown[]> => {
  const answers = (await redis.call('FCALL', 'compare', 0, JSON.stringify(cases))) as string[];
  return answers.map((answer) => JSON.parse(answer));
};

/** Compares both languages on random arguments. */
const compare = async <Args extends readonly unknown[]>(
  rule: string,
  args: fc.Arbitrary<Args>,
  expect: (args: Args) => unknown,
): Promise<void> => {
  const samples = fc.sample(args, 2_000);
  const answers = await runInLua(samples.map((sample): Case => [rule, ...sample]));
  for (const [index, sample] of samples.entries())
    assert.equal(answers[index], expect(sample), `${rule} of ${JSON.stringify(sample)}`);
};

/** Times near midnights of two weeks, and near multiples of a check. */
const nearDays = fc
  .tuple(fc.nat(14), fc.integer({ min: -2, max: 2 }))
  .map(([day, ms]) => day * dayMs + ms + 2);
const nearChecks = fc
  .tuple(fc.nat(40), fc.integer({ min: -1, max: 1 }))
  .map(([check, ms]) => Math.max(0, check * uptimeRules.checkMs + ms));

test('the window in force', () =>
  compare(
    'window',
    fc.tuple(nearDays, nearDays),
    ([premiumUntilMs, atMs]) => selectWindow({ ...emptyFacts, premiumUntilMs }, atMs, windows).perUser,
  ));

test('the vote that makes its voter wait', () =>
  compare(
    'holding',
    fc.tuple(
      fc
        .array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.nat(2)), { minLength: 1, maxLength: 5 })
        .map((votes) => votes.flat()),
      fc.nat(10),
    ),
    ([votes, releasedBeforeMs]) => {
      const pairs = votes.flatMap((atMs, index) =>
        index % 2 === 0 ? [{ atMs, flag: lastVoteFlags[votes[index + 1] as number] ?? 'cast' }] : [],
      );
      return findHoldingSinceMs(pairs, releasedBeforeMs);
    },
  ));

test('the chain hash', () =>
  compare(
    'chain',
    fc.tuple(
      fc.nat(2 ** 31 - 1),
      fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme-ascii' }),
      fc.nat(2 ** 31 - 1),
    ),
    ([chainHash, producer, sequence]) => extendChainHash(chainHash, { producer, sequence }),
  ));

test('checks of uptime', () =>
  compare(
    'uptime',
    fc.tuple(
      fc.boolean(),
      nearChecks,
      nearChecks,
      nearChecks,
      fc.constantFrom<'' | 'online' | 'offline'>('', 'online', 'offline'),
      nearChecks,
    ),
    ([listed, listedSinceMs, uptimeCheckedMs, lastStatsPostMs, status, nowMs]) => {
      const facts = { ...emptyFacts, listed, listedSinceMs };
      const state = { ...emptyTotals, facts, uptimeCheckedMs, lastStatsPostMs, status };
      const folded = foldUptime(state, nowMs, uptimeRules);
      return [folded.uptime, folded.totalUptime, folded.uptimeCheckedMs];
    },
  ));

test('limits', async () => {
  const { counterMax, clockAheadMaxMs, clockBehindMaxMs, voteBucketMs } = limits;
  assert.equal(await runInLua([['limits']]), [
    [String(counterMax), clockAheadMaxMs, clockBehindMaxMs, voteBucketMs],
  ]);
});

test.run();
