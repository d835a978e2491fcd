/**
 * The rules of commits with the default settings. Called by tests.
 */
import { readConfig, toCommitRules } from '../../ops/config/config.ts';

export const usualRules = toCommitRules(readConfig({}), []);
