/**
 * What SQL keeps of where votes came from, as texts to compare row for row: origins with their flags, counts
 * by hour and findings.
 */
import type { Queryable } from '../../storage/sql/client.ts';

/** Adds flags, a count and a finding, as the job leaves them. */
export const addFindings = async (sql: Queryable): Promise<void> => {
  await sql`update vote_origins set flags = 9`;
  await sql`
    insert into vote_counts (hour, votes, young) values ('2026-03-01 10:00Z', 7, 2)
    on conflict do nothing`;
  await sql`
    insert into vote_suspects (kind, at, incarnation, address_hash, first_at, last_at, figures)
    select 1, '2026-03-01 00:00Z', incarnation, address_hash, at, at, '{"votes": 12, "expected": 0.5}'
    from vote_origins limit 1`;
};

export const listOriginRows = async (sql: Queryable): Promise<readonly string[]> => {
  const rows = await sql<{ row: string }[]>`
    select 'origin ' || row_to_json(origin) as row from vote_origins as origin
    union all select 'count ' || row_to_json(counts) from vote_counts as counts
    union all select 'suspect ' || row_to_json(suspect) from vote_suspects as suspect
    order by 1`;
  return rows.map(({ row }) => row);
};
