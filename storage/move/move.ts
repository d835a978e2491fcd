/**
 * Moves a directory from one pair of stores to another, without loss: everything in both is the same
 * afterwards, except what belongs to a kind of store.
 *
 * Order: the source is closed (`moving`), the target is closed (`receiving`) and filled, complete
 * (`received`), the source is marked as `moved` for good, the target is opened. So at each moment at most one
 * of the two starts, and the same command continues after any interruption; before the source is `moved` it
 * fills the target again. SQL is filled in one transaction, and meanwhile the hot store.
 */
import type { ShardVersion } from '../../engine/entity/items.ts';
import { listAllShards } from '../../engine/ids.ts';
import { writeWhileReading } from '../../engine/tools/write-while-reading.ts';
import { claimDatabase } from '../hot-owner.ts';
import type { Stores } from '../open.ts';
import { migrate } from '../sql/migrate.ts';
import { hasRow } from '../sql/rows.ts';
import { type Mark, readMark, readMoveId, removeMark, writeMark } from './marks.ts';
import { countRows, endTimeLimits, writeCopy } from './sql-copy.ts';

export interface MovePlan {
  readonly source: Stores;
  readonly target: Stores;
  /** Name the stores to people, without passwords. */
  readonly from: string;
  readonly to: string;
  /** Flushes the source; its number of shards is set. */
  readonly flush: () => Promise<void>;
  readonly onProgress: (done: number, total: number) => void;
}

/** Moves or continues a move. Resolves to the rows of SQL and entries of the hot store that it copied. */
export const applyMove = async (plan: MovePlan): Promise<number> => {
  const { source, target } = plan;
  const sourceMark = await readMark(source.sql);
  if (sourceMark?.state === 'moved') return openMoved(plan, sourceMark);
  if (sourceMark === null) await migrate(source.sql);
  const id = await readMoveId(source.sql);
  await prepareTarget(plan, id);
  await assertNoNodes(plan);
  await writeMark(source.sql, { state: 'moving', id }, `to ${plan.to}`);
  try {
    await assertNoNodes(plan);
    await plan.flush();
    const copied = await fillTarget(plan, id);
    await assertNoNodes(plan);
    await writeMark(source.sql, { state: 'moved', id }, `to ${plan.to}`);
    await removeMark(target.sql);
    return copied;
  } catch (error) {
    const mark = await readMark(source.sql).catch(() => null);
    if (mark?.state === 'moving') await removeMark(source.sql);
    throw error;
  }
};

/** Opens a source that an interrupted move has closed, and leaves its unfinished target closed. */
export const endMove = async (source: Stores): Promise<void> => {
  const mark = await readMark(source.sql);
  if (mark?.state !== 'moving') {
    const why = mark === null ? 'it is not moving' : 'its other stores have it now';
    throw new Error(`Nothing was changed in this directory: ${why}.`);
  }
  await removeMark(source.sql);
};

const openMoved = async ({ target, to }: MovePlan, { id }: Mark): Promise<number> => {
  const mark = await readMark(target.sql);
  if (mark === null) throw new Error('This directory was moved before; its new stores are open.');
  if (mark.id !== id || mark.state !== 'received')
    throw new Error(`This directory was moved, but not to ${to}: name the stores that it was moved to.`);
  await removeMark(target.sql);
  return 0;
};

const assertNoNodes = async ({ source, from }: MovePlan): Promise<void> => {
  if (await source.hot.transfer.hasNodes())
    throw new Error(`A node is running on ${from}: stop all nodes and repeat the command.`);
};

/** Closes an empty target, or recognises the one of this move. */
const prepareTarget = async ({ target, from, to }: MovePlan, id: string): Promise<void> => {
  const mark = await readMark(target.sql);
  if (mark !== null && mark.id === id && mark.state !== 'moved') return;
  if (mark !== null) throw new Error(`The stores ${to} are part of another move: name empty ones.`);
  await migrate(target.sql);
  const isUsed = await hasRow(target.sql`
    select where exists (select from totals) or exists (select from generations)
      or exists (select from users)`);
  if (isUsed || !(await target.hot.transfer.isEmpty()))
    throw new Error(`The stores ${to} are not empty. A move never overwrites data: name empty ones.`);
  if (target.owner !== null) await claimDatabase(target.sql, target.owner);
  await writeMark(target.sql, { state: 'receiving', id }, `from ${from}`);
};

const fillTarget = async (plan: MovePlan, id: string): Promise<number> => {
  const { source, target } = plan;
  const versions = await source.hot.readVersions(listAllShards());
  const total = (await countRows(source.sql)) + (await source.hot.transfer.countEntries());
  let done = 0;
  const onCopied = (count: number): void => {
    done += count;
    plan.onProgress(done, Math.max(total, done));
  };
  await target.hot.transfer.removeAll();
  const heads = listAllShards().map((shard) => ({ shard, ...(versions[shard] as ShardVersion) }));
  await target.hot.transfer.writeHeads(heads);
  await target.sql.begin(async (transaction) => {
    await endTimeLimits(transaction);
    const hot = copyHot(plan, onCopied);
    hot.catch(() => {});
    // Both end before the stores are closed, also when one of them fails.
    await writeCopy([source.sql, transaction], onCopied).finally(() => hot);
    await writeMark(transaction, { state: 'received', id }, `from ${plan.from}`);
  });
  return done;
};

const copyHot = ({ source, target }: MovePlan, onCopied: (count: number) => void): Promise<void> =>
  writeWhileReading(source.hot.transfer.readRecords(onCopied), target.hot.transfer.writeRecords);
