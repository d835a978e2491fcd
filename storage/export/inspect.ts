/**
 * All that the stores know about one entity, side by side.
 *
 * Reads and changes nothing: the catalogue row, the totals as SQL has them, the state as the hot store has
 * it. Where SQL is behind the hot store the difference is what the next flush will write. Called by the
 * command line and the private listener.
 */
import type { EntityKind } from '../../engine/ids.ts';
import type { HotStore } from '../../engine/ports.ts';
import type { Sql } from '../sql/client.ts';

export type Fields = Record<string, unknown>;
export interface Inspection {
  readonly kind: EntityKind;
  readonly id: string;
  /** `null` where this part knows nothing of the entity. */
  readonly catalogue: Fields | null;
  readonly totals: Fields | null;
  readonly hot: Fields | null;
}

/** What the stores know about an entity. A read of each, not of one moment. */
export const inspectEntity = async (
  stores: { readonly sql: Sql; readonly hot: HotStore },
  kind: EntityKind,
  id: string,
): Promise<Inspection> => {
  const { sql, hot } = stores;
  const { table, key } = places[kind];
  const [catalogue] = await sql<Fields[]>`
    select e.*, v.code as vanity from ${sql(table)} e
      left join vanity v on v.target_type = ${kind} and v.target_id = ${id}
    where e.${sql(key)} = ${id}`;
  const [totals] = await sql<Fields[]>`select * from totals where kind = ${kind} and entity_id = ${id}`;
  const [reply] = await hot.load([{ kind, id }]);
  return { kind, id, catalogue: catalogue ?? null, totals: totals ?? null, hot: toHotFields(reply) };
};

const places: Record<EntityKind, { table: string; key: string }> = {
  bot: { table: 'bots', key: 'bot_id' },
  server: { table: 'servers', key: 'server_id' },
  team: { table: 'teams', key: 'id' },
  pack: { table: 'packs', key: 'url' },
};

const toHotFields = (reply: Awaited<ReturnType<HotStore['load']>>[number] | undefined): Fields | null => {
  if (reply === undefined || reply.outcome === 'absent') return null;
  if (reply.outcome === 'forgotten') return { forgotten: true, incarnation: reply.incarnation };
  const { facts, ...state } = reply.state;
  const { incarnation, shard } = reply.ref;
  return { incarnation, shard, generation: reply.generation, ...state, ...facts };
};
