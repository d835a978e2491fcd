/**
 * A process that commits to an embedded hot store until it is killed or has no room. For
 * `lmdb.sized.test.ts`.
 *
 * Usage: `lmdb-child.ts <mode> <folder>`. `clicks` commits one batch to each of four shards per round and
 * writes the round's number once it is acknowledged; checkpoints run all the time. `fill` commits to one
 * listing until a commit is rejected, tries the same sequence number again with less, and writes the results
 * as one line of JSON. `pend` commits new visitors until the tables cannot be
 * written and so much is pending that commits are rejected, then kills itself.
 */
import { writeSync } from 'node:fs';
import type { Item } from '../../../engine/entity/items.ts';
import { emptyFacts, emptyTotals } from '../../../engine/entity/state.ts';
import { StorageError } from '../../../engine/errors.ts';
import type { EntityRef } from '../../../engine/ids.ts';
import { type LmdbOptions, openLmdbStore } from '../../../storage/hot/lmdb/store.ts';
import { refOf } from '../../support/refs.ts';
import { rules as generatedRules } from './generate.ts';

export const clicksPerBatch = 25;
export const producer = 'child';
export const rules = { ...generatedRules, visitorsMax: 1_000_000 };
export const targets = ['1', '2', '3', '4'].map((id) => refOf('bot', id, 1));

export const initOf = (target: EntityRef, shardList = ''): Item => ({
  kind: 'init',
  target,
  facts: emptyFacts,
  totals: { ...emptyTotals, shardList },
  row: { generation: 0, version: 0 },
});

const openAt = async (path: string, options: Partial<LmdbOptions> = {}) => {
  const store = await openLmdbStore({ path, clock: Date.now, ...options });
  await store.publish(targets.map(({ shard }) => ({ shard, generation: 1 })));
  return store;
};

const commitClicks = async (path: string): Promise<void> => {
  const store = await openAt(path, { checkpointBytes: 20_000 });
  for (let sequence = 1; ; sequence++) {
    const batches = targets.map((target) => {
      const items = Array.from({ length: clicksPerBatch }, (_, index): Item => {
        return { kind: 'click', target, visitor: String(sequence * clicksPerBatch + index) };
      });
      return { shard: target.shard, producer, sequence, items: [initOf(target), ...items] };
    });
    await store.commit(batches, rules);
    writeSync(1, `${sequence}\n`);
  }
};

const fill = async (path: string): Promise<void> => {
  const store = await openAt(path);
  const [target] = targets;
  if (!target) return;
  const send = (sequence: number, items: Item[]) =>
    store.commit([{ shard: target.shard, producer, sequence, items }], rules);
  let clicks = 0;
  for (let sequence = 1; sequence < 2_000; sequence++) {
    try {
      const shardList = String(sequence).padStart(40_000, '0');
      const id = (number: number) => refOf('bot', target.id, number);
      const grown: Item[] = Array.from({ length: 500 }, (_, index) => {
        return { kind: 'click', target: id(1), visitor: String(sequence * 500 + index) };
      });
      await send(sequence, [
        initOf(target),
        { kind: 'stats', target, atMs: Date.now(), shardList },
        ...grown,
      ]);
      clicks += grown.length;
    } catch (failure) {
      const { reason, outcome } = failure as StorageError;
      const [loaded] = await store.load([{ kind: 'bot', id: target.id }]);
      const counted = loaded?.outcome === 'found' ? loaded.state.clicks : 0;
      const known = failure instanceof StorageError;
      writeSync(1, `${JSON.stringify({ known, reason, outcome, sequence, clicks, counted })}\n`);
      return store.close();
    }
  }
};

const pendingBytesMax = 2 ** 20;
const pend = async (path: string): Promise<void> => {
  const store = await openAt(path, { checkpointBytes: 2 ** 18, pendingBytesMax });
  const send = (sequence: number) =>
    store.commit(
      targets.map((target) => {
        const shardList = String(sequence).padStart(20_000, '0');
        const visitors = Array.from({ length: 500 }, (_, index): Item => {
          return { kind: 'click', target, visitor: String(sequence * 500 + index) };
        });
        const post: Item = { kind: 'stats', target, atMs: Date.now(), shardList };
        return { shard: target.shard, producer, sequence, items: [initOf(target), post, ...visitors] };
      }),
      rules,
    );
  const failures: { reason: string; outcome: string; detail: string }[] = [];
  let acknowledged = 0;
  while (failures.length < 40) {
    try {
      await send(acknowledged + 1);
      acknowledged++;
    } catch (failure) {
      const { reason, outcome, message } = failure as StorageError;
      failures.push({ reason, outcome, detail: message });
    }
  }
  writeSync(1, `${JSON.stringify({ acknowledged, failures, notes: store.listWarnings() })}\n`);
  process.kill(process.pid, 'SIGKILL');
};

if (import.meta.filename === process.argv[1]) {
  const [, , mode, path = ''] = process.argv;
  const modes = { fill, pend, clicks: commitClicks };
  await modes[mode as keyof typeof modes](path);
}
