/**
 * Names the limits of the host that Node does not survive. Loaded before each program, since Node itself
 * would fail while it loads a source, by an error that says nothing about the cause.
 */
import { readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const gibibyte = 2 ** 30;
/** V8 reserves about 10 GiB of addresses, not memory, for each WebAssembly module: a node has four. */
const neededGiB = process.argv[1]?.endsWith('ops/main.ts') ? 40 : 12;

const readAddressLimit = () => {
  try {
    const [, soft] = /^Max address space +(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return Number(soft) || Number.POSITIVE_INFINITY;
  } catch {
    // Without /proc the limit is unknown.
    return Number.POSITIVE_INFINITY;
  }
};

const findProblem = () => {
  try {
    process.cwd();
  } catch {
    return 'The working directory is gone. Change to one that exists and start again.';
  }
  const limit = readAddressLimit();
  if (limit >= neededGiB * gibibyte) return null;
  return (
    `The address space is limited to ${(limit / gibibyte).toFixed(1)} GiB (ulimit -v, LimitAS of systemd); ` +
    `${neededGiB} GiB are needed, which are addresses and not memory. Set it to unlimited and start again.`
  );
};

const problem = isMainThread ? findProblem() : null;
if (problem !== null) {
  process.stderr.write(`${problem} Nothing was changed.\n`);
  process.exit(1);
}
