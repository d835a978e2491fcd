/**
 * Polls for a condition. Lives with the benches, which wait for the same servers and may not import tests.
 */
export * from '../../bench/shared/until.ts';
