/**
 * Votes of the demo directory: a few thousand over the last three weeks, up and down, and totals that agree.
 *
 * A voter keeps his distance of more than half a day on one entity, and nobody voted within the last day, so
 * that every user of the demo may vote at once. Sets `upvotes` and `downvotes` of the records it is given.
 */
import type {
  BotRecord,
  EntityRecord,
  PackRecord,
  ServerRecord,
  TeamRecord,
  VoteRecord,
} from '../../storage/import/schema.ts';
import { type Dice, popularity } from './random.ts';

interface Poll {
  readonly dice: Dice;
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
/** One vote of a voter on an entity per day at most: day 1 is yesterday. */
const days = 21;

/** Casts the votes, most on the first of each list. Oldest first. */
export const castVotes = (poll: Poll, candidates: Candidates): VoteRecord[] => {
  const votes: VoteRecord[] = [];
  const cast = (record: EntityRecord, id: string, count: number): void => {
    votes.push(...votesOn(poll, record, { id, count }));
  };
  candidates.bots.forEach((bot, rank) => {
    if (isListed(bot.type)) cast(bot, bot.bot_id, popularity(poll.dice, rank, 700) + poll.dice.integer(0, 6));
  });
  candidates.servers.forEach((server, rank) => {
    if (isListed(server.type) && server.state === 'public') {
      cast(server, server.server_id, popularity(poll.dice, rank, 150));
    }
  });
  candidates.teams.forEach((team, rank) => {
    cast(team, team.id, popularity(poll.dice, rank, 40));
  });
  candidates.packs.forEach((pack, rank) => {
    cast(pack, pack.url, popularity(poll.dice, rank, 60));
  });
  return votes.sort((a, b) => (a.created_at < b.created_at ? -1 : 1));
};

const isListed = (type: string | undefined): boolean => type === 'approved' || type === 'certified';

const votesOn = (poll: Poll, record: EntityRecord, wanted: { id: string; count: number }): VoteRecord[] => {
  const { dice, nowMs } = poll;
  const liking = 0.82 + dice.next() * 0.16;
  const used = new Set<string>();
  const votes: VoteRecord[] = [];
  for (let tries = 0; tries < wanted.count; tries++) {
    const author = dice.pick(poll.voters);
    const day = dice.integer(1, days);
    if (used.has(`${author} ${day}`)) continue;
    used.add(`${author} ${day}`);
    // Within one third of the day, so that votes of neighbouring days stay 16 hours apart.
    const atMs = nowMs - day * dayMs - dice.integer(1, dayMs / 3);
    votes.push({
      kind: 'vote',
      itag: dice.uuid(),
      target_type: record.kind,
      target_id: wanted.id,
      author,
      upvote: dice.chance(liking),
      created_at: new Date(atMs).toISOString(),
    });
  }
  const up = votes.filter((vote) => vote.upvote).length;
  Object.assign(record, { upvotes: up, downvotes: votes.length - up });
  return votes;
};
