/**
 * Another legal value of each setting of a session that Rollcall sets for itself, for a role or a database.
 *
 * `SETTINGS=other` gives them to each database of `startPostgres`, and to those of test/support/alone.ts, so
 * that any test runs on such a database.
 */
/** Not those that only a superuser may change, nor `default_table_access_method`: there is no other one. */
export const otherSettings: Readonly<Record<string, string>> = {
  array_nulls: 'off',
  backslash_quote: 'on',
  bytea_output: 'escape',
  check_function_bodies: 'off',
  client_encoding: 'LATIN1',
  client_min_messages: 'debug5',
  DateStyle: 'SQL, DMY',
  default_transaction_deferrable: 'on',
  default_transaction_isolation: 'serializable',
  escape_string_warning: 'off',
  exit_on_error: 'on',
  extra_float_digits: '-15',
  gin_fuzzy_search_limit: '1',
  idle_in_transaction_session_timeout: '4000',
  idle_session_timeout: '4000',
  IntervalStyle: 'iso_8601',
  jit: 'on',
  lc_monetary: 'C.utf8',
  lc_numeric: 'C.utf8',
  lc_time: 'C.utf8',
  lock_timeout: '1',
  quote_all_identifiers: 'on',
  restrict_nonsystem_relation_kind: 'view',
  row_security: 'on',
  standard_conforming_strings: 'off',
  statement_timeout: '400',
  synchronize_seqscans: 'on',
  synchronous_commit: 'off',
  timezone_abbreviations: 'Australia',
  TimeZone: 'Pacific/Chatham',
  transaction_timeout: '4000',
  transform_null_equals: 'on',
  xmlbinary: 'hex',
  xmloption: 'document',
};

/** Sets them for a database, as far as the server has them. For a superuser's connection to any database. */
export const writeChange = (database: string): string => `do $$ declare one record; begin
  for one in select name, value from json_each_text('${JSON.stringify(otherSettings)}') as other (name, value)
    join pg_settings using (name) loop
    execute format('alter database %I set %s = %L', '${database}', one.name, one.value);
  end loop; end $$`;
