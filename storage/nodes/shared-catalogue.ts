/**
 * The catalogue of one node of a fleet: edits are told to the other nodes, theirs are heard, sessions are
 * mirrored.
 *
 * Wraps what has to be told and nothing else. A dropped profile is told without waiting: who misses it
 * reads the profile again when it has grown old (`profileAgeMaxMs`). Whatever ends sessions inside SQL is
 * put between two rounds of holds, so that no copy outlives it. Called once by the composition root.
 */
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { OperatorCatalogue } from '../catalogue/operator/operator-catalogue.ts';
import type { Pubsub } from './pubsub.ts';
import type { MirroredSessions } from './sessions.ts';

export interface CatalogueSharing {
  readonly pubsub: Pubsub;
  readonly sessions: MirroredSessions;
  /** Told when an edit could not be told to the others. */
  readonly onWarning: (words: string, error: unknown) => void;
}

type ProfileKind = 'bot' | 'server' | 'team';
interface InvalidatedProfiles {
  drop(id: string): void;
  invalidateAll(): void;
}

const createNotifier =
  (profiles: InvalidatedProfiles, kind: ProfileKind, { pubsub, onWarning }: CatalogueSharing) =>
  (id: string): void => {
    profiles.drop(id);
    pubsub
      .publish({ kind: 'profile', entity: kind, id })
      .catch((error: unknown) => onWarning('an edit was not told to the other nodes', error));
  };

/** What operators end or ban must not live on in a mirrored session. */
const shareOperatorCatalogue = (
  operator: OperatorCatalogue,
  sessions: MirroredSessions,
): OperatorCatalogue => ({
  ...operator,
  people: {
    ...operator.people,
    setBan: (id, ban, value) =>
      sessions.changeSessions({ bannable: id }, () => operator.people.setBan(id, ban, value)),
  },
  listings: {
    ...operator.listings,
    putServer: (id, fields) =>
      sessions.changeSessions({ target: { kind: 'server', id } }, () =>
        operator.listings.putServer(id, fields),
      ),
    remove: (kind, id) =>
      sessions.changeSessions({ target: { kind, id } }, () => operator.listings.remove(kind, id)),
  },
});

/** The same catalogue, shared. Hears the signals as long as they are open. */
export const shareCatalogue = (catalogue: Catalogue, sharing: CatalogueSharing): Catalogue => {
  const { bots, servers, teams } = catalogue;
  const { pubsub, sessions } = sharing;
  const profiles: Readonly<Record<string, InvalidatedProfiles>> = { bot: bots, server: servers, team: teams };
  const doubtAll = (): void => {
    for (const droppable of Object.values(profiles)) droppable.invalidateAll();
  };
  pubsub.subscribe({
    onMessage: (message) => {
      if (message.kind === 'profile') profiles[message.entity]?.drop(message.id);
    },
    onReconnect: doubtAll,
    stalled: doubtAll,
  });
  return {
    ...catalogue,
    sessions,
    bots: {
      ...bots,
      drop: createNotifier(bots, 'bot', sharing),
      edits: {
        ...bots.edits,
        remove: (request) =>
          sessions.changeSessions({ target: { kind: 'bot', id: request.botId } }, () =>
            bots.edits.remove(request),
          ),
        transfer: (request, teamId) =>
          sessions.changeSessions({ target: { kind: 'bot', id: request.botId } }, () =>
            bots.edits.transfer(request, teamId),
          ),
      },
    },
    servers: { ...servers, drop: createNotifier(servers, 'server', sharing) },
    operator: shareOperatorCatalogue(catalogue.operator, sessions),
    teams: {
      ...teams,
      drop: createNotifier(teams, 'team', sharing),
      edits: {
        ...teams.edits,
        remove: (teamId, actor) =>
          sessions.changeSessions({ target: { kind: 'team', id: teamId } }, () =>
            teams.edits.remove(teamId, actor),
          ),
      },
      members: {
        ...teams.members,
        edit: (request, change) =>
          change.permissions === null
            ? teams.members.edit(request, change)
            : sessions.changeSessions({ mintedBy: request.userId }, () =>
                teams.members.edit(request, change),
              ),
        remove: (request) =>
          sessions.changeSessions({ mintedBy: request.userId }, () => teams.members.remove(request)),
      },
    },
  };
};
