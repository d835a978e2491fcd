/**
 * A Redis Cluster with two nodes on it: primaries killed and paused, no majority, no owner, too few replicas,
 * slots that move. Partitions are in partition.fault.ts. Time limit: 2400 s.
 */
import { suite } from 'uvu';
import { type ClusterFault, runClusterFaults } from './cluster.ts';
import {
  joined,
  killed,
  killedBehind,
  majorityGone,
  migrating,
  paused,
  slotWithoutOwner,
  withoutReplicas,
} from './cluster-faults.ts';
import { printFigures } from './figures.ts';
import { seed } from './plans.ts';

const test = suite('cluster');
const nodeTimeoutMs = 2_000;

const run = async (name: string, faults: readonly ClusterFault[]): Promise<void> =>
  printFigures(`${name} (seed ${seed})`, await runClusterFaults({ seed, nodeTimeoutMs }, faults));

const times = (count: number, ...faults: ClusterFault[]): readonly ClusterFault[] =>
  Array.from({ length: count }, () => faults).flat();

test('a primary killed, ten times: nothing acknowledged is lost, nothing counts twice', () =>
  run('kill -9 of a Cluster primary', times(10, killed)));

test('a primary killed whose replica was behind: nodes resend what was lost with it', () =>
  run('kill -9 of a Cluster primary, its replica behind', times(5, killedBehind)));

test('a primary paused until it was replaced: nothing is lost, nothing counts twice', () =>
  run('SIGSTOP of a Cluster primary', times(5, paused)));

test('no majority, no owner of a slot, too few replicas: nothing was counted, and it goes on', () =>
  run('Cluster that refuses', times(2, majorityGone, slotWithoutOwner, withoutReplicas)));

test('slots that move, also to a primary that joins empty: nothing is lost, nothing counts twice', () =>
  run('slots on the move', [migrating, joined, migrating]));

test.run();
