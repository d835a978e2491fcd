/**
 * The catalogue of one node of a fleet: edits are told to the other nodes, theirs are heard, sessions are
 * mirrored.
 *
 * Wraps what has to be told and nothing else. A dropped profile is told without waiting: who misses it
 * reads the profile again when it has grown old (`profileAgeMaxMs`). Whatever ends sessions inside SQL is
 * put between two rounds of holds, so that no copy outlives it. Called once by the composition root.
 */
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { OperatorSide } from '../catalogue/operator-side.ts';
import type { RedisSignals } from '../signals.ts';
import type { MirroredSessions } from './sessions.ts';

export interface Sharing {
  readonly signals: RedisSignals;
  readonly sessions: MirroredSessions;
  /** Told when an edit could not be told to the others. */
  readonly onTrouble: (words: string, error: unknown) => void;
}

type Kind = 'bot' | 'server' | 'team';
interface Droppable {
  drop(id: string): void;
  doubtAll(): void;
}

const telling =
  (profiles: Droppable, kind: Kind, { signals, onTrouble }: Sharing) =>
  (id: string): void => {
    profiles.drop(id);
    signals
      .publish({ kind: 'profile', entity: kind, id })
      .catch((error: unknown) => onTrouble('an edit was not told to the other nodes', error));
  };

/** What operators end or ban must not live on in a mirrored session. */
const shareOperatorSide = (operator: OperatorSide, sessions: MirroredSessions): OperatorSide => ({
  ...operator,
  people: {
    ...operator.people,
    setBan: (id, ban, value) =>
      sessions.around({ bannable: id }, () => operator.people.setBan(id, ban, value)),
  },
  listings: {
    ...operator.listings,
    putServer: (id, fields) =>
      sessions.around({ target: { kind: 'server', id } }, () => operator.listings.putServer(id, fields)),
    remove: (kind, id) => sessions.around({ target: { kind, id } }, () => operator.listings.remove(kind, id)),
  },
});

/** The same catalogue, shared. Hears the signals as long as they are open. */
export const shareCatalogue = (catalogue: Catalogue, sharing: Sharing): Catalogue => {
  const { bots, servers, teams } = catalogue;
  const { signals, sessions } = sharing;
  const profiles: Readonly<Record<string, Droppable>> = { bot: bots, server: servers, team: teams };
  const doubtAll = (): void => {
    for (const droppable of Object.values(profiles)) droppable.doubtAll();
  };
  signals.hear({
    message: (message) => {
      if (message.kind === 'profile') profiles[message.entity]?.drop(message.id);
    },
    found: doubtAll,
    stalled: doubtAll,
  });
  return {
    ...catalogue,
    sessions,
    bots: {
      ...bots,
      drop: telling(bots, 'bot', sharing),
      edits: {
        ...bots.edits,
        remove: (request) =>
          sessions.around({ target: { kind: 'bot', id: request.botId } }, () => bots.edits.remove(request)),
        transfer: (request, teamId) =>
          sessions.around({ target: { kind: 'bot', id: request.botId } }, () =>
            bots.edits.transfer(request, teamId),
          ),
      },
    },
    servers: { ...servers, drop: telling(servers, 'server', sharing) },
    operator: shareOperatorSide(catalogue.operator, sessions),
    teams: {
      ...teams,
      drop: telling(teams, 'team', sharing),
      edits: {
        ...teams.edits,
        remove: (teamId, actor) =>
          sessions.around({ target: { kind: 'team', id: teamId } }, () => teams.edits.remove(teamId, actor)),
      },
      members: {
        ...teams.members,
        edit: (request, change) =>
          change.permissions === null
            ? teams.members.edit(request, change)
            : sessions.around({ mintedBy: request.userId }, () => teams.members.edit(request, change)),
        remove: (request) =>
          sessions.around({ mintedBy: request.userId }, () => teams.members.remove(request)),
      },
    },
  };
};
