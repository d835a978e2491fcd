/**
 * A Postgres of a test's own. Lives with the benches, which start the same servers and may not import tests.
 */
export * from '../../bench/shared/postgres-server.ts';
