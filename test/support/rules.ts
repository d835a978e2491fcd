/**
 * The rules of commits with the default settings, and settings with which every day has the same rules.
 */
import { readConfig, toCommitRules } from '../../ops/config/config.ts';

export const usualRules = toCommitRules(readConfig({}), []);

/** A vote counts once at weekends too, and the next one is as far away. */
export const sameEveryDay = { VOTES_PER_WEEKEND_REQUEST: '1', VOTE_WAIT_WEEKEND_HOURS: '12' };
