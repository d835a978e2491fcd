/**
 * The catalogue of a node with shared stores: publishes its edits, applies those of other nodes, and mirrors
 * sessions.
 *
 * Wraps only operations that other nodes must learn of. A dropped profile is published without waiting: a
 * node that misses the message learns it from SQL within a second (catalogue/shared/notices.ts). Operations
 * that end sessions in SQL run between two rounds of holds, so that no copy outlives them. Called once, by
 * ops/cluster-context.ts.
 */
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { OperatorCatalogue } from '../catalogue/operator/operator-catalogue.ts';
import type { Pubsub } from './pubsub.ts';
import type { MirroredSessions } from './sessions.ts';

export interface CatalogueSharing {
  readonly pubsub: Pubsub;
  readonly sessions: MirroredSessions;
  /** Called when an edit could not be published. */
  readonly onWarning: (message: string, error: unknown) => void;
}

type ProfileKind = 'bot' | 'server' | 'team';
interface InvalidatedProfiles {
  drop(id: string): void;
}

const createNotifier =
  (profiles: InvalidatedProfiles, kind: ProfileKind, { pubsub, onWarning }: CatalogueSharing) =>
  (id: string): void => {
    profiles.drop(id);
    pubsub
      .publish({ kind: 'profile', entity: kind, id })
      .catch((error: unknown) => onWarning('an edit was not published to the other nodes', error));
  };

/** Ends the mirrored sessions of listings and people that operators change, delete or ban. */
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

/** Tells the other nodes that endpoints changed. A node that misses it reads them within seconds. */
const shareWebhooks = (
  webhooks: Catalogue['webhooks'],
  { pubsub, onWarning }: CatalogueSharing,
): Catalogue['webhooks'] => {
  const announce = <Result>(result: Result): Result => {
    pubsub
      .publish({ kind: 'webhooks' })
      .catch((error: unknown) => onWarning('an edit was not published to the other nodes', error));
    return result;
  };
  return {
    ...webhooks,
    insert: (target, request) => webhooks.insert(target, request).then(announce),
    update: (target, request) => webhooks.update(target, request).then(announce),
    remove: (target, id) => webhooks.remove(target, id).then(announce),
  };
};

/** Wraps a catalogue for shared stores. Subscribes to `pubsub` until that is closed. */
export const shareCatalogue = (catalogue: Catalogue, sharing: CatalogueSharing): Catalogue => {
  const { bots, servers, teams } = catalogue;
  const { pubsub, sessions } = sharing;
  const profiles: Readonly<Record<string, InvalidatedProfiles>> = { bot: bots, server: servers, team: teams };
  pubsub.subscribe({
    onMessage: (message) => {
      if (message.kind === 'profile') profiles[message.entity]?.drop(message.id);
    },
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
    webhooks: shareWebhooks(catalogue.webhooks, sharing),
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
