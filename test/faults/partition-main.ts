/**
 * The program that a partition fault runs in a network of its own: `partition-main.ts <fault> <rounds>
 * <seed>`. Prints its figures; says what is wrong and ends with 1 otherwise.
 */
import { printFigures } from './figures.ts';
import { breaks, runPartition } from './partition.ts';

const [name = '', rounds = '1', seed = '1'] = process.argv.slice(2);
const fault = breaks[name];
if (fault === undefined) throw new Error(`There is no fault ${name}.`);

const run = { seed: Number(seed), nodeTimeoutMs: 2_000, rounds: Number(rounds), break: fault };
printFigures(`partition ${name} (seed ${seed})`, await runPartition(run));
