/**
 * Shows what the stores have about one entity, side by side.
 *
 * Reads the catalogue row, the totals in SQL and the state in the hot store; changes nothing. Where SQL is
 * behind the hot store, the next flush writes the difference.
 */
import { type EntityKind, foldTargetId, type Target } from '../../engine/ids.ts';
import type { HotStore } from '../../engine/ports.ts';
import { recordKinds } from '../import/kinds.ts';
import type { Sql } from '../sql/client.ts';

export type Fields = Record<string, unknown>;
export interface Inspection extends Target {
  /** Each of these is `null` if that part does not have the entity. */
  readonly catalogue: Fields | null;
  readonly totals: Fields | null;
  readonly hot: Fields | null;
}

/** Reads an entity from each store, one after the other: the parts are not from one moment. */
export const inspectEntity = async (
  stores: { readonly sql: Sql; readonly hot: Pick<HotStore, 'load'> },
  kind: EntityKind,
  givenId: string,
): Promise<Inspection> => {
  const { sql, hot } = stores;
  const id = foldTargetId(kind, givenId);
  const { table, key } = recordKinds[kind];
  const [catalogue] = await sql<Fields[]>`
    select e.*, v.code as vanity from ${sql(table)} e
      left join vanity v on v.target_type = ${kind} and v.target_id = ${id}
    where e.${sql(key)} = ${id}`;
  const [totals] = await sql<Fields[]>`select * from totals where kind = ${kind} and entity_id = ${id}`;
  const [reply] = await hot.load([{ kind, id }]);
  return { kind, id, catalogue: catalogue ?? null, totals: totals ?? null, hot: toHotFields(reply) };
};

const toHotFields = (reply: Awaited<ReturnType<HotStore['load']>>[number] | undefined): Fields | null => {
  if (reply === undefined || reply.outcome === 'absent') return null;
  if (reply.outcome === 'damaged') return { damaged: true };
  if (reply.outcome === 'forgotten') return { forgotten: true, incarnation: reply.incarnation };
  const { facts, ...state } = reply.state;
  const { incarnation, shard } = reply.ref;
  return { incarnation, shard, generation: reply.generation, ...state, ...facts };
};
