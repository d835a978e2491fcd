/**
 * All scenarios, in the order they are run and reported.
 */
import { page } from './page.ts';
import { read } from './read.ts';
import type { Scenario, ScenarioName } from './scenario.ts';
import { stats } from './stats.ts';
import { vote } from './vote.ts';

const scenarios: Readonly<Record<ScenarioName, Scenario>> = { stats, read, page, vote };

export const scenarioOf = (name: ScenarioName): Scenario => scenarios[name];
