/**
 * The addresses of all that is listed, for search engines: cut into parts by incarnation, so that a part is a
 * bounded read that no other listing moves.
 */
import type { EntityKind } from '../../../engine/ids.ts';
import type { Sql } from '../../sql/client.ts';
import { bindStorage } from '../../sql/errors.ts';
import { readColumn } from '../../sql/rows.ts';

/** Incarnations of one part; fewer of them are listed. */
const partIncarnations = 2_000;

export interface SitemapEntry {
  readonly kind: EntityKind;
  /** The vanity code, or the url of a pack. */
  readonly name: string;
  readonly updated_at: Date;
}

/** Reads the numbers of the parts that have listings: one step along the index per part. */
const readParts = (sql: Sql): Promise<readonly number[]> =>
  readColumn<number>(sql`
    with recursive parts as (
      (select incarnation / ${partIncarnations}::bigint as part from totals order by incarnation limit 1)
      union all
      select (select incarnation / ${partIncarnations}::bigint from totals
        where incarnation >= (parts.part + 1) * ${partIncarnations}::bigint order by incarnation limit 1)
      from parts where parts.part is not null)
    select part from parts where part is not null order by part`);

const readEntries = (sql: Sql, part: number): Promise<readonly SitemapEntry[]> => {
  const within = sql`incarnation >= ${part}::bigint * ${partIncarnations}::bigint
    and incarnation < (${part}::bigint + 1) * ${partIncarnations}::bigint`;
  return sql<SitemapEntry[]>`
    select 'bot' as kind, vanity.code as name, updated_at
    from bots join vanity on vanity.itag = bots.vanity_ref
    where type in ('approved', 'certified') and ${within}
    union all
    select 'server', vanity.code, updated_at from servers join vanity on vanity.itag = servers.vanity_ref
    where type in ('approved', 'certified') and state = 'public' and ${within}
    union all
    select 'team', vanity.code, updated_at from teams join vanity on vanity.itag = teams.vanity_ref
    where ${within}
    union all
    select 'pack', url, created_at from packs where ${within}`;
};

export const createSitemap = (sql: Sql) =>
  bindStorage('sitemap', sql, { parts: readParts, entries: readEntries });
