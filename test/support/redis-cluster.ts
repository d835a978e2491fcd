/**
 * A Redis Cluster of a test's own. Lives with the benches, which start the same servers and may not import
 * tests.
 */
export * from '../../bench/shared/redis-cluster.ts';
