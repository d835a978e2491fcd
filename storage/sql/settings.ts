/**
 * The settings of a session that change what text means, which rows a statement sees or what a transaction
 * promises. A role or a database may have any value of them; each connection of ours sets its own first.
 *
 * One statement does it instead of parameters of the connection, which poolers refuse or drop. It sets only
 * what differs and what this version of Postgres has. The table was chosen from all of `pg_settings` that a
 * role may have; left out are those that change only plans, memory, logs and the place of files.
 */
import type postgres from 'postgres';

type Client = Pick<postgres.Sql, 'unsafe'>;

/** The value, as `pg_settings` writes it, and what depends on it. */
type Pinned = readonly [value: string, reason: string, ...alsoRight: string[]];

export const pinnedSettings: Readonly<Record<string, Pinned>> = {
  array_nulls: ['on', 'null in arrays is no text'],
  backslash_quote: ['safe_encoding', 'where a text ends'],
  bytea_output: ['hex', 'bytes as text'],
  check_function_bodies: ['on', 'a migration fails where it is wrong, not later'],
  client_encoding: ['UTF8', 'all text'],
  client_min_messages: ['notice', 'messages beside rows'],
  DateStyle: ['ISO, MDY', 'which number is the day'],
  default_table_access_method: ['heap', 'tables that can be changed'],
  default_transaction_deferrable: ['off', 'a transaction begins at once'],
  default_transaction_isolation: ['read committed', 'what a statement sees of others'],
  escape_string_warning: ['on', 'messages beside rows'],
  exit_on_error: ['off', 'an error ends the statement, not the session'],
  extra_float_digits: ['1', 'numbers that are read as they were written'],
  gin_fuzzy_search_limit: ['0', 'a search finds all, not a sample'],
  idle_in_transaction_session_timeout: ['60000', 'a lost client frees its locks'],
  idle_session_timeout: ['0', 'a pool, and the lock of a folder, last'],
  ignore_checksum_failure: ['off', 'damaged rows are errors'],
  IntervalStyle: ['postgres', 'time spans as text'],
  jit: ['off', 'statements touch few rows: compiling one takes longer than running it'],
  lc_monetary: ['C', 'amounts as text'],
  lc_numeric: ['C', 'numbers as text'],
  lc_time: ['C', 'names of days and months'],
  // Longer than the server takes to find a deadlock, so that the loser is reported as such and retried.
  lock_timeout: ['2000', 'a lock is waited for so long'],
  quote_all_identifiers: ['off', 'names as text'],
  restrict_nonsystem_relation_kind: ['', 'which tables can be read'],
  row_security: ['off', 'rows that a policy hides are an error, not absent'],
  session_replication_role: ['origin', 'triggers run'],
  standard_conforming_strings: ['on', 'a backslash in text is a backslash'],
  statement_timeout: ['5000', 'a statement ends'],
  synchronize_seqscans: ['off', 'rows come in the same order again'],
  synchronous_commit: ['on', 'a commit is on disk', 'local', 'remote_write', 'remote_apply'],
  timezone_abbreviations: ['Default', 'names of time zones'],
  TimeZone: ['UTC', 'the day of a moment'],
  transaction_timeout: ['0', 'a migration or a copy ends by itself'],
  transform_null_equals: ['off', '= null is never true'],
  xmlbinary: ['base64', 'bytes as text'],
  xmloption: ['content', 'documents as text'],
  zero_damaged_pages: ['off', 'damaged rows are errors'],
};

/** Only on connections of ours to a server: the embedded one has no timers. */
const timeLimits = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];

/** No name or value has a quote in it. */
const quoteText = (text: string): string => `'${text}'`;

const pinnedRows = Object.entries(pinnedSettings)
  .map(([name, [value, , ...also]]) => {
    const own = timeLimits.includes(name)
      ? `case when pg_catalog.current_setting('application_name') like 'rollcall%'
          then coalesce(pg_catalog.current_setting('rollcall.${name}', true), ${quoteText(value)}) end`
      : quoteText(value);
    return `(${quoteText(name)}, ${own}, array[${also.map(quoteText).join()}]::text[])`;
  })
  .join();

/** The settings that differ. A time limit of another client is null, and left as it is. */
const different = `
  select name, value, setting, context from (values ${pinnedRows}) as pinned (name, value, also)
  join pg_catalog.pg_settings using (name)
  where setting <> value and setting <> all (also)`;

/**
 * Names are looked up in the first schema of the path, where the tables are, and where the extension is;
 * nothing else of a path can stand before a table.
 */
const path = `pg_catalog.concat_ws(', ',
  coalesce(pg_catalog.quote_ident(pg_catalog.current_schema()), 'public'),
  (select pg_catalog.quote_ident(nspname) from pg_catalog.pg_extension
    join pg_catalog.pg_namespace as place on place.oid = extnamespace where extname = 'pg_trgm'))`;

/**
 * Sets what differs, and reads the types of arrays, as the driver's first statement does. First it ends a
 * time limit that may be too short for it.
 */
const firstStatement = `
  set statement_timeout = 0;
  with own as materialized (
    select pg_catalog.set_config(name, value, false) from (${different}) as other
    where context = 'user' or pg_catalog.current_setting('is_superuser') = 'on'
    union all select pg_catalog.set_config('search_path', ${path}, false))
  select item.oid, item.typarray from pg_catalog.pg_type as item
  where item.typarray <> 0 and item.typtype <> 'c' and (select count(*) from own) > 0`;

/** A statement of the driver (3.4.9). */
interface Statement {
  readonly tagged: boolean;
  readonly handler: (statement: Statement) => void;
  readonly constructor: new (texts: string[], values: [], handler: Statement['handler']) => Statement;
  readonly simple: () => Statement & Promise<unknown>;
  strings: string[];
  executed: boolean;
  resolve: (rows: unknown[]) => void;
  reject: (error: unknown) => void;
}

const isOfTypes = ({ tagged, executed, strings }: Statement): boolean =>
  !tagged && !executed && (strings[0]?.includes('b.typarray') ?? false);

/**
 * Takes the place of the statement with which the driver reads the types of arrays on a new connection, the
 * only one that it sends before any of ours. Without an answer no caller waits for it: the connection has
 * ended, or ends here.
 */
const replace = (statement: Statement): void => {
  const { resolve, handler } = statement;
  const endConnection = (): void => {
    const end = new statement.constructor(['select pg_terminate_backend(pg_backend_pid())'], [], handler);
    end.simple().catch(() => undefined);
  };
  statement.strings = [firstStatement];
  statement.simple();
  statement.resolve = (results) => {
    // Fewer results than statements: the connection was lost in between.
    const types = results.at(-1);
    if (Array.isArray(types)) resolve(types);
    else endConnection();
  };
  statement.reject = (error) => {
    if ((error as { severity?: string } | null)?.severity === 'ERROR') endConnection();
  };
};

const patched = new WeakSet<object>();

/** Makes all pools of this process whose option `fetch_types` is on begin each connection with the table. */
export const applySettings = <Pool extends Client>(sql: Pool): Pool => {
  const prototype = Object.getPrototypeOf(sql.unsafe('')) as { handle: (this: Statement) => unknown };
  if (patched.has(prototype)) return sql;
  patched.add(prototype);
  const { handle } = prototype;
  prototype.handle = function handleReplaced() {
    if (isOfTypes(this)) replace(this);
    return handle.call(this);
  };
  return sql;
};

/** Describes a setting that this role cannot change; `null` if all are as they must be. */
export const findForeignSetting = async (sql: Client): Promise<string | null> => {
  const [found] = await sql.unsafe<{ name: string; value: string; setting: string }[]>(different);
  if (found === undefined) return null;
  const { name, value, setting } = found;
  return (
    `DATABASE_URL: ${name} is "${setting}" there and must be "${value}" (${pinnedSettings[name]?.[1]}), ` +
    `and this role may not change it: alter role NAME reset ${name}, or alter database NAME reset it.`
  );
};
