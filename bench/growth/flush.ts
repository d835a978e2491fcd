/**
 * Compares the flush with the same work written by hand: `COPY` of the same rows into a temporary table and
 * one merging UPDATE, on the same server.
 *
 * Flushes the same entities again and again with growing versions, so that every row is written each time.
 */
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type postgres from 'postgres';
import { fieldKinds, fields } from '../../engine/entity/fields.ts';
import { emptyFacts, emptyTotals, type HotState } from '../../engine/entity/state.ts';
import { createEntityRef, type EntityRef } from '../../engine/ids.ts';
import { limits } from '../../engine/limits.ts';
import type { DirtyEntity } from '../../engine/ports.ts';
import { createLedger } from '../../storage/ledger/ledger.ts';
import type { Sql } from '../../storage/sql/client.ts';
import { computeSpread } from '../report/statistics.ts';

const rounds = 5;
const rowsMax = 20_000;

const stateAt = (version: number): HotState => ({
  ...emptyTotals,
  clicks: version,
  servers: String(version),
  users: String(version * 7),
  shards: '4',
  status: 'online',
  lastStatsPostMs: version,
  facts: emptyFacts,
  flushedVotes: 0,
  version,
});

const definitions = fields.map(({ column, kind }) => `${column} ${fieldKinds[kind].column}`).join();
const assignments = fields.map(({ column }) => `${column} = incoming.${column}`).join();

const copyByHand = async (sql: Sql, rows: readonly DirtyEntity[]): Promise<void> => {
  const lines = rows.map(({ ref, generation, state }) =>
    [ref.incarnation, generation, state.version, ...fields.map(({ name }) => state[name])].join('\t'),
  );
  await (sql as unknown as postgres.Sql).begin(async (transaction) => {
    await transaction.unsafe(`
      create temporary table incoming (incarnation bigint, generation bigint, version bigint, ${definitions})
      on commit drop`);
    const sink = await transaction`copy incoming from stdin`.writable();
    const finished = once(sink, 'finish');
    await pipeline(Readable.from([`${lines.join('\n')}\n`]), sink);
    await finished.catch(() => {});
    await transaction.unsafe(`
      update totals set generation = incoming.generation, version = incoming.version, ${assignments},
        flushed_at = now()
      from incoming where totals.incarnation = incoming.incarnation
        and (totals.generation, totals.version) < (incoming.generation, incoming.version)`);
  });
};

const timeSeconds = async (task: () => Promise<unknown>): Promise<number> => {
  const begunMs = performance.now();
  await task();
  return (performance.now() - begunMs) / 1_000;
};

/** In each round both write every row, one after the other. */
export const measureFlush = async (sql: Sql) => {
  const listed = await sql<Omit<EntityRef, 'address'>[]>`
    select kind, entity_id as id, incarnation, shard from totals limit ${rowsMax}`;
  const ledger = createLedger(sql);
  let version = 1_000_000;
  const dirty = (): DirtyEntity[] => {
    version += 1;
    return listed.map((row) => ({ ref: createEntityRef(row), generation: 1_000, state: stateAt(version) }));
  };
  const inBatches = async (write: (rows: readonly DirtyEntity[]) => Promise<unknown>): Promise<void> => {
    const rows = dirty();
    for (let from = 0; from < rows.length; from += limits.flushEntitiesMax) {
      await write(rows.slice(from, from + limits.flushEntitiesMax));
    }
  };
  const ours: number[] = [];
  const byHand: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const own = await timeSeconds(() => inBatches((entities) => ledger.flush({ entities, votes: [] })));
    const other = await timeSeconds(() => inBatches((entities) => copyByHand(sql, entities)));
    if (round === 0) continue;
    ours.push(own);
    byHand.push(other);
  }
  const ratios = ours.map((seconds, index) => (byHand[index] ?? 0) / seconds);
  return {
    rows: listed.length,
    rowsPerSecond: listed.length / computeSpread(ours).median,
    copyRowsPerSecond: listed.length / computeSpread(byHand).median,
    ratio: computeSpread(ratios).median,
  };
};
