/**
 * Generates the votes of the demo directory: a few thousand over the last three weeks, and matching totals.
 *
 * Two votes of a user for the same entity are more than half a day apart, and no vote is from the last day,
 * so that every user of the demo can vote at once. Sets `upvotes` and `downvotes` of the given records.
 */
import type {
  BotRecord,
  EntityRecord,
  PackRecord,
  ServerRecord,
  TeamRecord,
  VoteRecord,
} from '../../storage/import/schema.ts';
import { computePopularity, type Random } from './random.ts';

interface VoteMaker {
  readonly dice: Random;
  readonly nowMs: number;
  readonly voters: readonly string[];
}
interface Candidates {
  readonly bots: readonly BotRecord[];
  readonly servers: readonly ServerRecord[];
  readonly teams: readonly TeamRecord[];
  readonly packs: readonly PackRecord[];
}

const dayMs = 86_400_000;
/** At most one vote per user, entity and day; day 1 is yesterday. */
const days = 21;

/** Returns the votes, oldest first. The first entities of each list get the most. */
export const castVotes = (poll: VoteMaker, candidates: Candidates): VoteRecord[] => {
  const votes: VoteRecord[] = [];
  const cast = (record: EntityRecord, id: string, count: number): void => {
    votes.push(...makeVotesOn(poll, record, { id, count }));
  };
  candidates.bots.forEach((bot, rank) => {
    if (isListed(bot.type))
      cast(bot, bot.bot_id, computePopularity(poll.dice, rank, 700) + poll.dice.integer(0, 6));
  });
  candidates.servers.forEach((server, rank) => {
    if (isListed(server.type) && server.state === 'public') {
      cast(server, server.server_id, computePopularity(poll.dice, rank, 150));
    }
  });
  candidates.teams.forEach((team, rank) => {
    cast(team, team.id, computePopularity(poll.dice, rank, 40));
  });
  candidates.packs.forEach((pack, rank) => {
    cast(pack, pack.url, computePopularity(poll.dice, rank, 60));
  });
  return votes.sort((a, b) => (a.created_at < b.created_at ? -1 : 1));
};

const isListed = (type: string | undefined): boolean => type === 'approved' || type === 'certified';

const makeVotesOn = (
  poll: VoteMaker,
  record: EntityRecord,
  wanted: { id: string; count: number },
): VoteRecord[] => {
  const { dice: random, nowMs } = poll;
  const liking = 0.82 + random.next() * 0.16;
  const used = new Set<string>();
  const votes: VoteRecord[] = [];
  for (let tries = 0; tries < wanted.count; tries++) {
    const author = random.pick(poll.voters);
    const day = random.integer(1, days);
    if (used.has(`${author} ${day}`)) continue;
    used.add(`${author} ${day}`);
    // In the last 8 hours of the day, so that votes on consecutive days are at least 16 hours apart.
    const atMs = nowMs - day * dayMs - random.integer(1, dayMs / 3);
    votes.push({
      kind: 'vote',
      itag: random.uuid(),
      target_type: record.kind,
      target_id: wanted.id,
      author,
      upvote: random.chance(liking),
      created_at: new Date(atMs).toISOString(),
    });
  }
  const up = votes.filter((vote) => vote.upvote).length;
  Object.assign(record, { upvotes: up, downvotes: votes.length - up });
  return votes;
};
