/**
 * Seeded chance for tests: the same seed asks the same questions, in the order they are asked. It is the demo
 * directory's (ops/demo/random.ts), under a name that tests of faults can reach without knowing of a demo.
 */
export { createRandom as createDice, type Random as Dice } from '../../ops/demo/random.ts';
