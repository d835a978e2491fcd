/**
 * Reads listings with their facts and totals, and converts the rows to the engine's entities.
 *
 * The counted columns: totals.ts.
 */
import { createEntityRef, type EntityKind } from '../../engine/ids.ts';
import type { LedgerEntity } from '../../engine/ports.ts';
import { formatTexts } from '../sql/arrays.ts';
import type { Queryable } from '../sql/client.ts';
import { readTotals, type TotalsColumns } from './totals.ts';

export interface EntityRow extends TotalsColumns {
  /** Position in `targets`, from 1. */
  readonly position: number;
  readonly incarnation: number;
  readonly kind: EntityKind;
  readonly entity_id: string;
  readonly generation: number;
  readonly version: number;
  readonly revision: number;
  readonly listed: boolean;
  readonly vote_banned: boolean;
  readonly premium_until_ms: number;
  readonly listed_since_ms: number;
}

/** Reads the existing listings among `targets`, each through an index. */
export const selectEntities = (
  sql: Queryable,
  targets: readonly { readonly kind: EntityKind; readonly id: string }[],
): Promise<readonly EntityRow[]> => sql<EntityRow[]>`
  select requested.position, totals.*, facts.revision, facts.listed, facts.vote_banned,
    coalesce(extract(epoch from facts.premium_until) * 1000, 0)::bigint as premium_until_ms,
    case when facts.listed then coalesce(extract(epoch from facts.listed_since) * 1000, 0) else 0 end::bigint
      as listed_since_ms
  from unnest(
    ${formatTexts(targets.map(({ kind }) => kind))}::text[],
    ${formatTexts(targets.map(({ id }) => id))}::text[]
  ) with ordinality as requested (kind, id, position)
  join totals on totals.kind = requested.kind and totals.entity_id = requested.id
  join facts on facts.incarnation = totals.incarnation`;

/** Converts a row. */
export const toLedgerEntity = (row: EntityRow): LedgerEntity => ({
  ref: createEntityRef(row.kind, row.entity_id, row.incarnation),
  facts: {
    revision: row.revision,
    listed: row.listed,
    voteBanned: row.vote_banned,
    premiumUntilMs: row.premium_until_ms,
    listedSinceMs: row.listed_since_ms,
  },
  totals: readTotals(row),
  generation: row.generation,
  version: row.version,
});
