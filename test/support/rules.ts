/**
 * The rules of commits with the default settings.
 */
import { readConfig, toCommitRules } from '../../ops/config/config.ts';

export const usualRules = toCommitRules(readConfig({}), []);
