/**
 * Loaded before the tests of a run: appends every statement that they send to the file `STATEMENTS`, a few
 * times each, with its parameters.
 */
import { appendFileSync } from 'node:fs';
import { commonOptions } from '../../storage/sql/client.ts';

const timesMax = 2;
const file = process.env.STATEMENTS ?? '';
const times = new Map<string, number>();

/** As the driver calls it: a connection, the statement, its parameters and their types. */
const record = (...[, query, parameters, types]: [number, string, unknown[], number[]]): void => {
  const seen = times.get(query) ?? 0;
  times.set(query, seen + 1);
  if (seen < timesMax) appendFileSync(file, `${JSON.stringify({ query, parameters, types })}\n`);
};

Object.assign(commonOptions, { debug: record });
