/**
 * A Redis Cluster with two nodes on it: primaries killed and paused, no majority, no owner, too few replicas,
 * slots that move. Partitions are in cluster-partitioned.fault.ts. Time limit: 2400 s.
 */
import { suite } from 'uvu';
import { faultCase } from '../harness/fault-case.ts';
import {
  joined,
  killed,
  killedBehind,
  majorityGone,
  migrating,
  paused,
  slotWithoutOwner,
  withoutReplicas,
} from './cluster-primary-lost.ts';
import { type ClusterFault, runClusterFaults } from './on-cluster.ts';

const test = suite('cluster');

const plans: readonly {
  readonly title: string;
  readonly name: string;
  readonly times?: number;
  readonly faults: readonly ClusterFault[];
}[] = [
  {
    title: 'a primary killed: nothing acknowledged is lost, nothing counts twice',
    name: 'kill -9 of a Cluster primary',
    times: 4,
    faults: [killed],
  },
  {
    title: 'a primary killed whose replica was behind: nodes resend what was lost with it',
    name: 'kill -9 of a Cluster primary, its replica behind',
    times: 2,
    faults: [killedBehind],
  },
  {
    title: 'a primary paused until it was replaced: nothing is lost, nothing counts twice',
    name: 'SIGSTOP of a Cluster primary',
    times: 2,
    faults: [paused],
  },
  {
    title: 'no majority, no owner of a slot, too few replicas: nothing was counted, and it goes on',
    name: 'Cluster that refuses',
    faults: [majorityGone, slotWithoutOwner, withoutReplicas],
  },
  {
    title: 'slots that move, also to a primary that joins empty: nothing is lost, nothing counts twice',
    name: 'slots on the move',
    faults: [migrating, joined, migrating],
  },
];

for (const { title, name, times = 1, faults } of plans) {
  faultCase(test, {
    title,
    name,
    counts: { faults: times },
    run: ({ seed, count }) => runClusterFaults(seed, Array.from({ length: count }, () => faults).flat()),
  });
}

test.run();
