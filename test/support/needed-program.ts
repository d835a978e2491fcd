/**
 * Programs that tests need, found or installed. Lives with the benches, which need the same ones and may not
 * import tests.
 */
export * from '../../bench/shared/needed-program.ts';
