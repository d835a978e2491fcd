/**
 * Programs that tests need, found or installed. Lives with the benches, which start the same servers and may not
 * import tests. Called by tests.
 */
export * from '../../bench/stores/needed-program.ts';
