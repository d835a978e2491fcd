/**
 * Marks in SQL that close a directory while it moves: no program of any version starts on a marked one.
 *
 * A mark is a row of `schema_versions` whose name says that a later program took something away, which all
 * programs refuse (storage/sql/migrate.ts). `moving` and `moved` are marks of a source, `receiving` and
 * `received` of a target. The id is that of the directory, so an interrupted move recognises its target.
 */
import { getOrCreateSecret } from '../nodes/membership.ts';
import type { Queryable } from '../sql/client.ts';
import { hasTable, readValue } from '../sql/rows.ts';

export type MarkState = 'moving' | 'moved' | 'receiving' | 'received';
export interface Mark {
  readonly state: MarkState;
  readonly id: string;
}

/** Higher than every migration. */
const markVersion = 1_000_000;

/** Reads the mark; `null` without one, also in an empty database. */
export const readMark = async (sql: Queryable): Promise<Mark | null> => {
  if (!(await hasTable(sql, 'schema_versions'))) return null;
  const name = await readValue<string>(sql`
    select name from schema_versions where version = ${markVersion}`);
  const [, state, id = ''] = /^contract-(\w+)-(\w+)/.exec(name ?? '') ?? [];
  return state === undefined ? null : { state: state as MarkState, id };
};

/** Closes the directory, or changes its mark; a program that starts on it shows `place`. Ledger. */
export const writeMark = (sql: Queryable, { state, id }: Mark, place: string): Promise<unknown> => sql`
  insert into schema_versions (version, name) values (${markVersion}, ${`contract-${state}-${id} ${place}`})
  on conflict (version) do update set name = excluded.name`;

/** Opens the directory. Ledger. */
export const removeMark = (sql: Queryable): Promise<unknown> =>
  sql`delete from schema_versions where version = ${markVersion}`;

/** Reads the id of a directory, the same at every move. */
export const readMoveId = async (sql: Queryable): Promise<string> =>
  (await getOrCreateSecret(sql, 'move_id')).slice(0, 16);
