/**
 * What all fault tests start from: the directory they work on, the number of connections, and the seed.
 *
 * `SEED=n` in the environment repeats a run; otherwise every run has its own, printed with its figures.
 */
import { directoryOf } from '../support/directory.ts';
import { makeTemplate, type Template } from '../support/template.ts';
import { outsiders } from './full.ts';
import type { RunPlan } from './live.ts';

/** Few users on many targets: so that most of them meet their window. */
const sizes = { users: 40, bots: 12, servers: 3, teams: 3, packs: 3 };

export const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);

export const makeFaultTemplate = (): Promise<Template> =>
  makeTemplate({ ...sizes, bots: sizes.bots + outsiders });

/** A plan on a copy of its own. */
export const planOn = (template: Template): RunPlan => ({
  dataDir: template.copy(),
  directory: directoryOf(sizes),
  connections: 24,
  seed,
});
