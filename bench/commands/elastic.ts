/**
 * `npm run bench -- elastic`: primaries of a Redis Cluster from three to four and back by moving slots, nodes
 * from one to eight and back, under load; judged as by `prove`.
 */

import { parseCount, text } from '../arguments.ts';
import {
  type ElasticOptions,
  type ElasticResult,
  runElastic,
  type ShardSilence,
  type Stage,
  type Window,
} from '../elastic/elastic.ts';
import { describeMachine } from '../machine/machine.ts';
import { describeProofs } from '../prove/table.ts';
import { describeBusyMachine } from '../report/tables.ts';
import { alignColumns } from '../report/text.ts';
import { createRandom } from '../shared/random.ts';
import { type CommandContext, defineCommand } from './command.ts';

const usage = `Usage: npm run bench -- elastic [options]

Under load, a fourth primary joins a Redis Cluster, takes a quarter of all slots and gives them back; then one
node becomes eight, and one again. Judges as prove does. Exits with 1 on any lie.

  --rate N          requests a second in all (2000)
  --nodes N         at most so many nodes (8)
  --listings N      listings in the slots beside the driven ones, each with a visitor (30000)
  --seconds N       of each window in which CPU is read; two follow each change (10)
  --seed N          of the load
  --json FILE       also writes the figures to FILE
`;

type Given = Omit<ElasticOptions, 'random' | 'show' | 'stop'> & {
  readonly seed: number;
};

const toUs = ({ used: { nodes, redis, postgres } }: Window): number => nodes + redis + postgres;
const perRequest = (window: Window): number => toUs(window) / Math.max(1, window.requests);

const describeStages = ({ before, stages }: ElasticResult): string => {
  const whole = (value: number): string => value.toFixed(0);
  const toRow = ({ name, seconds, rate, silenceMs, after: [first, second] }: Stage): readonly string[] => [
    name,
    seconds.toFixed(1),
    whole(rate),
    whole(silenceMs),
    whole(perRequest(first)),
    whole(perRequest(second)),
    (perRequest(second) / perRequest(before)).toFixed(2),
  ];
  const rows = [['before', '', '', '', '', whole(perRequest(before)), '1.00'], ...stages.map(toRow)];
  const head = ['', 'seconds', 'requests/s', 'silence ms', 'then µs', 'later µs', '÷ before'];
  return alignColumns({ head, rows, textColumns: 1 });
};

const describeSilences = (silences: readonly ShardSilence[]): string => {
  const rows = [...silences]
    .sort((one, other) => one.keys - other.keys)
    .map(({ shard, slot, keys, bytes, silenceMs }) =>
      [shard, slot, keys, (bytes / 1_048_576).toFixed(1), silenceMs.toFixed(0)].map(String),
    );
  return alignColumns({ head: ['shard', 'slot', 'keys', 'MiB', 'silence ms'], rows, textColumns: 0 });
};

const columns = `
silence ms   the longest time without an acknowledged change of any one shard
then, later  CPU of nodes, Redis and Postgres for one request, in the two windows after a change`;

/** Resolves to the exit code: 0 without a lie, else 1. */
const run = async (given: Given, { live, stop, writeJson }: CommandContext): Promise<number> => {
  const machine = describeMachine();
  const result = await runElastic({
    ...given,
    random: createRandom(given.seed),
    show: (line) => live.show(line),
    stop,
  });
  live.clear();
  console.log(describeProofs(new Map([['rollcall', result.proof]])));
  console.log(`\n${describeSilences(result.silences)}\n\n${describeStages(result)}\n${columns}`);
  console.log(describeBusyMachine(machine).join('\n'));
  writeJson({ machine, ...result });
  return result.proof.lies.length > 0 ? 1 : 0;
};

export const runElasticCommand = defineCommand({
  usage,
  options: { rate: text, nodes: text, listings: text, seconds: text, seed: text, json: text },
  parse: (given): Given => ({
    rate: parseCount('rate', given.rate ?? '2000', [8, 5_000]),
    nodes: parseCount('nodes', given.nodes ?? '8', [2, 16]),
    listings: parseCount('listings', given.listings ?? '30000', [0, 10_000_000]),
    windowSeconds: parseCount('seconds', given.seconds ?? '10', [1, 60]),
    seed: parseCount('seed', given.seed ?? String(Date.now() % 1_000_000), [0, 1_000_000_000]),
  }),
  run,
});
