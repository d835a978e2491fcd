/**
 * The program that a partition fault runs in a network of its own: `cluster-partitioned-main.ts <fault>
 * <rounds> <seed>`. Prints its figures as JSON; says what is wrong and ends with 1 otherwise.
 */
import { breaks, runPartition } from './cluster-partitioned.ts';

const [name = '', rounds = '1', seed = '1'] = process.argv.slice(2);
const fault = breaks[name];
if (fault === undefined) throw new Error(`There is no fault ${name}.`);

console.log(JSON.stringify(await runPartition(Number(seed), Number(rounds), fault)));
