/**
 * One node under attack, on either kind of stores, and the log of its ordinary clients. A node that does not
 * survive is replaced by another one on the same stores, so that the next attack finds one. At the end
 * stores and log are compared: every acknowledged change is there, once.
 */

import { type ClientLog, endLife } from '../../../bench/prove/client-log.ts';
import type { Directory } from '../../support/directory.ts';
import { type StartedNode, startNode } from '../../support/node-process.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { startRedis } from '../../support/redis-server.ts';
import { conclude, createRun, lastLook, settings, stopWell } from '../harness/embedded-run.ts';
import { seed } from '../harness/fault-case.ts';
import type { Figures } from '../harness/figures.ts';
import { makeFaultTemplate, planOn } from '../harness/plans.ts';
import { type Life, openStack, operatorToken } from '../harness/stack.ts';

export interface Arena {
  readonly stores: string;
  readonly directory: Directory;
  readonly log: ClientLog;
  node(): StartedNode;
  /** The number of the node's life in the log. */
  life(): number;
  /** Ends the node, if it lives, and starts another one. */
  replace(): Promise<void>;
  /** Stops the node and judges. Throws with all that is wrong. */
  judge(): Promise<Figures>;
  close(): Promise<void>;
}

/** Transactions all the time: an attack must not meet one in a bad moment. */
const flushing = { FLUSH_INTERVAL_MS: '50' };

const openEmbedded = async (): Promise<Arena> => {
  const startedMs = performance.now();
  const template = await makeFaultTemplate();
  const run = createRun(planOn(template, seed));
  const start = (): Promise<StartedNode> =>
    startNode({ dataDir: run.dataDir, settings: { ...settings, ...flushing, ADMIN_TOKEN: operatorToken } });
  let node = await start();
  return {
    stores: 'embedded',
    directory: run.directory,
    log: run.log,
    node: () => node,
    life: () => run.log.life,
    replace: async () => {
      await node.kill();
      endLife(run.log);
      node = await start();
    },
    judge: async () => {
      await stopWell(run, node);
      await lastLook(run);
      return conclude(run, startedMs);
    },
    close: async () => {
      await node.kill();
      run.client.close();
      template.remove();
    },
  };
};

const openShared = async (): Promise<Arena> => {
  const postgres = await startPostgres();
  const redis = await startRedis();
  const closeStores = async (): Promise<void> => {
    await redis.dispose();
    await postgres.close();
  };
  const databaseUrl = await postgres.database('attacks');
  const stack = await openStack({
    redisUrls: [redis.url],
    databaseUrl,
    nodes: 1,
    seed,
    settings: flushing,
  }).catch(async (error: unknown) => {
    await closeStores();
    throw error;
  });
  const alive = (): Life => stack.alive()[0] as Life;
  return {
    stores: 'Redis + Postgres',
    directory: stack.directory,
    log: stack.log,
    node: () => alive().node,
    life: () => alive().life,
    replace: async () => {
      await stack.kill(alive());
      await stack.open();
    },
    judge: () => stack.judge(),
    close: async () => {
      await stack.close();
      await closeStores();
    },
  };
};

/** Opens a node on each kind of stores. */
export const arenas: readonly { readonly stores: string; readonly open: () => Promise<Arena> }[] = [
  { stores: 'embedded', open: openEmbedded },
  { stores: 'Redis + Postgres', open: openShared },
];
