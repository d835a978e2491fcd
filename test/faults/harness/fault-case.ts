/**
 * One way to register a fault case: its claim, its name in the figures, and how much of it each group of
 * tests runs.
 *
 * `npm test` runs the quick count of a case once; a case without one is of the fault group alone.
 * `npm run test:faults` runs the full count with each of its seeds: three, or as many as `--seeds N` says
 * (the runner passes TEST_GROUP and TEST_SEEDS). `SEED=n` repeats one seed. Figures of several seeds become
 * one line.
 */
import type { suite } from 'uvu';
import { addFigures, printFigures } from './figures.ts';

/** Of one seed, in each group of tests. */
export interface Counts {
  readonly quick?: number;
  readonly faults: number;
}

/** A file that only the fault group has is in that group, whatever starts it. */
const isFaultRun = process.env.TEST_GROUP === 'faults' || /\.fault\.ts$/.test(process.argv[1] ?? '');

const firstSeed = Number(process.env.SEED ?? Date.now() % 1_000_000);
const seedCount = isFaultRun && process.env.SEED === undefined ? Number(process.env.TEST_SEEDS ?? 3) : 1;

export const seeds: readonly number[] = Array.from({ length: seedCount }, (_, index) => firstSeed + index);

/** Of a case without seeds of its own. */
export const seed = firstSeed;

export const countOf = ({ quick = 0, faults }: Counts): number => (isFaultRun ? faults : quick);

/** What one run of a case gets. */
export interface Share {
  readonly seed: number;
  readonly count: number;
}

export interface FaultCase<Figures extends object> {
  /** The claim. */
  readonly title: string;
  /** In the figures. */
  readonly name: string;
  /** The fault group alone, one round per seed, by default. */
  readonly counts?: Counts;
  /** Nothing in it is random: other seeds would repeat it. */
  readonly once?: boolean;
  /** Throws with all that is wrong; resolves to `null` where this system cannot run it, see `skip`. */
  run(share: Share): Promise<Figures | null>;
}

/** An assertion of uvu also has what differs. */
type Failure = Error & { readonly details?: string | false };

/** Registers the case, if this group of tests has it. */
export const faultCase = <Figures extends object>(
  test: ReturnType<typeof suite>,
  { title, name, counts = { faults: 1 }, once = false, run }: FaultCase<Figures>,
): void => {
  const count = countOf(counts);
  if (count === 0) return;
  const chosen = once ? seeds.slice(0, 1) : seeds;
  test(title, async () => {
    let all: Figures | null = null;
    for (const seed of chosen) {
      const figures: Figures | null = await run({ seed, count }).catch((error: Failure) => {
        throw new Error(`SEED=${seed}: ${error.message}\n${error.details || ''}`, { cause: error });
      });
      if (figures === null) return;
      all = all === null ? figures : addFigures(all, figures);
    }
    if (all !== null) printFigures(name, { ...all, seeds: chosen });
  });
};

/** Reports a case that this system cannot run, and why; the runner counts these lines. */
export const skip = (name: string, why: string): null => {
  console.log(`\nskipped: ${name}: ${why}`);
  return null;
};
