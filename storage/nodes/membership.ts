/**
 * The nodes known in SQL: when none was alive (downtimes), and settings that all nodes share. (heartbeats.ts
 * lists the nodes that are alive now, which exist only with shared stores.)
 *
 * Uptime checks do not count during a downtime, so that a bot does not lose uptime while no node could check
 * it. The first node that starts after a downtime records it. All times come from the database's clock.
 */
import { randomBytes } from 'node:crypto';
import type { UptimeRules } from '../../engine/entity/items.ts';
import { limits } from '../../engine/limits.ts';
import type { Queryable, Sql } from '../sql/client.ts';
import { asStorage, bindStorage } from '../sql/errors.ts';
import { readColumn, readValue } from '../sql/rows.ts';

export type Downtimes = UptimeRules['downtimes'];

export interface MembershipOptions {
  readonly node: string;
  /** Time between uptime checks, ms: shorter downtimes lose no check and are not recorded. */
  readonly checkMs: number;
}

/** Node names change (with containers); rows of nodes without a heartbeat for this long are deleted. */
const nodeDaysMax = 30;

/**
 * Joins: records the downtime since the newest heartbeat, if there was one, and writes the first heartbeat.
 */
export const openMembership = async (sql: Sql, { node, checkMs }: MembershipOptions) => {
  await asStorage('fleet.open', () =>
    sql.begin(async (transaction) => {
      await transaction`lock table fleet in share row exclusive mode`;
      await transaction`
        insert into outages (from_at, to_at)
        select newest, now() from (select max(seen_at) as newest from fleet) as marks
        where newest < now() - make_interval(secs => ${checkMs / 1000})
        on conflict (from_at) do update set to_at = greatest(outages.to_at, excluded.to_at)`;
      await writeHeartbeat({ sql: transaction, node });
      await transaction`delete from fleet where seen_at < now() - make_interval(days => ${nodeDaysMax})`;
    }),
  );
  return bindStorage('fleet', { sql, node }, { writeHeartbeat, listNodes, listDowntimes, leave });
};
export type Membership = Awaited<ReturnType<typeof openMembership>>;

interface Member {
  readonly sql: Queryable;
  readonly node: string;
}

/** Records this node as alive now. Call at least every `uptime.checkMs`, and twice a minute. */
const writeHeartbeat = ({ sql, node }: Member): Promise<unknown> => sql`
  insert into fleet (node, seen_at) values (${node}, now())
  on conflict (node) do update set seen_at = greatest(fleet.seen_at, excluded.seen_at)`;

/** Nodes with a heartbeat within `withinMs`, sorted by name. */
const listNodes = ({ sql }: Member, withinMs: number): Promise<readonly string[]> =>
  readColumn<string>(sql`
    select node from fleet
    where seen_at >= now() - make_interval(secs => ${withinMs / 1000}) order by node`);

/** Lists the times without any live node, oldest first; only the newest `limits.downtimesMax`. */
const listDowntimes = async ({ sql }: Member): Promise<Downtimes> => {
  const rows = await sql<{ from_ms: number; to_ms: number }[]>`
    select (extract(epoch from from_at) * 1000)::bigint as from_ms,
      (extract(epoch from to_at) * 1000)::bigint as to_ms
    from outages order by from_at desc limit ${limits.downtimesMax}`;
  return rows.reverse().map(({ from_ms, to_ms }) => ({ fromMs: from_ms, toMs: to_ms }));
};

/** Removes this node, unless it is the last one: its heartbeat then stays as the begin of a downtime. */
const leave = async (member: Member): Promise<void> => {
  const { sql, node } = member;
  await writeHeartbeat(member);
  await sql`
    delete from fleet where node = ${node} and exists (
      select from fleet as other
      where other.node <> ${node} and other.seen_at > now() - interval '1 minute')`;
};

/** Returns a value that all nodes share. The first node stores what `make` returns; later ones read it. */
export const getOrCreateSetting = (
  sql: Queryable,
  name: string,
  make: () => string | Promise<string>,
): Promise<string> =>
  asStorage('fleet.setting', async () => {
    const read = () => readValue<string>(sql`select value from settings where name = ${name}`);
    const existing = await read();
    if (existing !== null) return existing;
    await sql`insert into settings (name, value) values (${name}, ${await make()}) on conflict do nothing`;
    return (await read()) ?? '';
  });

/**
 * Returns a shared secret of 32 random bytes in hexadecimal, created once per directory (for example the key
 * of the visitors' hash).
 */
export const getOrCreateSecret = (sql: Queryable, name: string): Promise<string> =>
  getOrCreateSetting(sql, name, () => randomBytes(32).toString('hex'));
