/**
 * Prepares recorded statements on a filled database and finds what planning takes once they have run ten
 * times.
 *
 * Postgres plans the first five executions of a prepared statement for their parameters, and then once for
 * all parameters, unless that seems to cost more. `EXPLAIN EXECUTE` tells the time of each. What it runs is
 * rolled back.
 */
import type { Sql } from '../../storage/sql/client.ts';
import { toLiteral } from './literals.ts';

export interface RecordedStatement {
  readonly query: string;
  readonly parameters: readonly unknown[];
  /** OIDs; 0 where Postgres infers the type. */
  readonly types: readonly number[];
}

export interface PlanFigures {
  readonly query: string;
  /** Medians of the runs after the tenth, ms. */
  readonly planningMs: number;
  /** `null` where the statement fails on these rows. */
  readonly runningMs: number | null;
}

const runsBefore = 10;
const runsMeasured = 5;

const median = (values: readonly number[]): number =>
  [...values].sort((left, right) => left - right)[values.length >> 1] ?? 0;

const readTime = (text: string, name: string): number =>
  Number(new RegExp(`${name} Time: ([\\d.]+)`).exec(text)?.[1] ?? 0);

const explain = async (sql: Sql, execute: string, analyze: boolean): Promise<string> => {
  await sql.unsafe('begin').simple();
  try {
    const rows = await sql.unsafe(`explain (${analyze ? 'analyze, ' : ''}summary) ${execute}`).simple();
    return rows.map((row) => row['QUERY PLAN'] as string).join('\n');
  } finally {
    await sql.unsafe('rollback').simple();
  }
};

/** Measures one statement; `null` if it cannot be prepared by itself. */
const measureStatement = async (
  sql: Sql,
  { query, parameters, types }: RecordedStatement,
): Promise<PlanFigures | null> => {
  const [named] = await sql<{ names: string[] }[]>`
    select array(
      select case oid when 0 then 'unknown' else format_type(oid, null) end
      from unnest(${[...types]}::oid[]) with ordinality as types (oid, place) order by place) as names`;
  const names = named?.names ?? [];
  try {
    await sql.unsafe(`prepare replayed ${names.length > 0 ? `(${names.join()})` : ''} as ${query}`).simple();
  } catch {
    return null;
  }
  const values = parameters.map(toLiteral).join();
  const execute = `execute replayed ${values === '' ? '' : `(${values})`}`;
  const planning: number[] = [];
  const running: number[] = [];
  try {
    const runs = await explain(sql, execute, true).then(
      () => true,
      () => false,
    );
    for (let run = 1; run < runsBefore + runsMeasured; run++) {
      const text = await explain(sql, execute, runs);
      if (run < runsBefore) continue;
      planning.push(readTime(text, 'Planning'));
      running.push(readTime(text, 'Execution'));
    }
    return { query, planningMs: median(planning), runningMs: runs ? median(running) : null };
  } finally {
    await sql.unsafe('deallocate replayed').simple();
  }
};

const isPlanned = ({ query }: RecordedStatement): boolean =>
  /^\s*(select|with|insert|update|delete)\b/i.test(query);

/** Measures each different statement once, on a pool with one connection. */
export const replay = async (
  sql: Sql,
  recorded: readonly RecordedStatement[],
): Promise<readonly PlanFigures[]> => {
  const different = new Map(recorded.filter(isPlanned).map((statement) => [statement.query, statement]));
  const figures: PlanFigures[] = [];
  for (const statement of different.values()) {
    const found = await measureStatement(sql, statement).catch(() => null);
    if (found !== null) figures.push(found);
  }
  return figures;
};
