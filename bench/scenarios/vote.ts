/**
 * `vote`: each user votes once for each bot, so that every vote of a run is accepted.
 *
 * A connection has some users and goes through the bots with them; each round continues where the last one
 * ended.
 */
import type { LoadRequest, Round } from './scenario.ts';

/** More than a connection can send in a second, so that the cycle never reaches its first vote again. */
export const votesPerConnectionAndSecond = 240;

export const createVote = ({ directory, connection, connections }: Round, turn: number): LoadRequest => {
  const { bots, users } = directory;
  const usersOfConnection = Math.floor(users.length / connections);
  const lap = Math.floor(turn / bots.length);
  if (usersOfConnection === 0 || lap >= usersOfConnection) {
    throw new Error(
      'vote: the users of a connection would have voted for every bot; have more of both, or fewer rounds',
    );
  }
  const user = users[connection * usersOfConnection + lap];
  // Connections start at different bots: otherwise all would vote for the same one at the same time.
  const bot = bots[(turn + connection * 37) % bots.length];
  return {
    method: 'PUT',
    path: `/users/${user?.id}/bots/${bot?.id}/votes?upvote=true`,
    headers: { 'User-Auth': user?.token ?? '' },
  };
};
