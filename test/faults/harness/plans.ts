/**
 * What the cases on embedded stores start from: a data folder with a directory, made once per file, and a
 * copy of it for each run.
 */
import type { suite } from 'uvu';
import { directoryOf } from '../../support/directory.ts';
import { makeTemplate, type Template } from '../../support/template.ts';
import type { RunPlan } from './embedded-run.ts';

/** Few users on many targets: so that most of them meet their window. */
const sizes = { users: 40, bots: 12, servers: 3, teams: 3, packs: 3 };
/** Bots that the load does not touch, so that the log's judge ignores them. */
export const outsiders = 12;

export const makeFaultTemplate = (): Promise<Template> =>
  makeTemplate({ ...sizes, bots: sizes.bots + outsiders });

/** A plan on a copy of its own. */
export const planOn = (template: Template, seed: number): RunPlan => ({
  dataDir: template.copy(),
  directory: directoryOf(sizes),
  connections: 24,
  seed,
});

/** The folder of a test file: made before its first test, removed after its last one. */
export const useTemplate = (test: ReturnType<typeof suite>) => {
  let template: Template;
  test.before(async () => {
    template = await makeFaultTemplate();
  });
  test.after(() => template.remove());
  return {
    plan: (seed: number): RunPlan => planOn(template, seed),
    copy: (): string => template.copy(),
  };
};
