/**
 * What replies about a bot showed, as entries of the client's log: relative to what it showed before the run,
 * and for shards one entry each, of a pseudo bot `id#shard`.
 */
import { type Answer, NoAnswer } from '../shared/http-client.ts';
import type { Sight } from './client-log.ts';
import { findPostShown } from './post-body.ts';
import type { ProveLog } from './prove-log.ts';
import { readParts } from './shards.ts';
import { type Listing, readPosted } from './subject.ts';

interface Seen extends Pick<Sight, 'callMs' | 'returnMs' | 'life' | 'place' | 'quiet'> {
  readonly listing: Listing;
}

interface BotNumbers {
  readonly bot_id?: string;
  readonly clicks?: number;
  readonly unique_clicks?: number;
  readonly votes?: number;
}

/** The post whose turn a shard shows: 0 for the first one of all, -1 for one that was never sent. */
const findTurn = ({ turns }: ProveLog, bot: string, turn: number): number =>
  turn === 1 ? 0 : (turns.get(bot)?.get(turn) ?? -1);

export const addPartSights = (
  log: ProveLog,
  { listing, ...seen }: Seen,
  text: string,
  into: Sight[] = log.sights,
): void => {
  for (const [shard, turn] of (readParts(text) ?? []).entries()) {
    const bot = `${listing.id}#${shard}`;
    into.push({ ...seen, bot, post: findTurn(log, bot, turn), clicks: 0, uniqueClicks: 0 });
  }
};

/** Adds what the answer shows, if it shows anything. */
export const addSights = (log: ProveLog, seen: Seen, answer: Answer | NoAnswer): void => {
  if (answer instanceof NoAnswer || answer.status !== 200) return;
  const { text } = answer;
  const { listing, ...at } = seen;
  const { id: bot, posts, base } = listing;
  const numbers = JSON.parse(text) as BotNumbers;
  if (numbers.bot_id !== undefined && numbers.bot_id !== bot) {
    log.misplaced.push(`bot ${bot} at ${at.callMs.toFixed(0)} shows bot ${numbers.bot_id}`);
    return;
  }
  const isFirst = posts === 'shards' || readPosted(text) === base.posted;
  log.sights.push({
    ...at,
    bot,
    post: isFirst ? 0 : findPostShown(text),
    clicks: (numbers.clicks ?? 0) - base.clicks,
    uniqueClicks: Math.max(0, (numbers.unique_clicks ?? 0) - base.uniqueClicks),
    votes: (numbers.votes ?? 0) - base.votes,
  });
  if (posts === 'shards') addPartSights(log, seen, text);
};
