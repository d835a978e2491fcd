/**
 * The catalogue of a node with shared stores: publishes its edits, applies those of other nodes, and mirrors
 * sessions.
 *
 * Wraps only operations that other nodes must learn of. A dropped profile is published without waiting: a
 * node that misses the message learns it from SQL within a second (catalogue/shared/notices.ts). Operations
 * that end sessions in SQL run between two rounds of holds, so that no copy outlives them. Called once, by
 * ops/cluster-context.ts.
 */
import type { EntityKind } from '../../engine/ids.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { OperatorCatalogue } from '../catalogue/operator/operator-catalogue.ts';
import type { NodeMessage } from './messages.ts';
import type { Pubsub } from './pubsub.ts';
import type { AffectedSessions } from './session-copies.ts';
import type { MirroredSessions } from './sessions.ts';

export interface CatalogueSharing {
  readonly pubsub: Pubsub;
  readonly sessions: MirroredSessions;
  /** Called when an edit could not be published. */
  readonly onWarning: (message: string, error: unknown) => void;
}

interface InvalidatedProfiles {
  drop(id: string): void;
}

const publishEdit = ({ pubsub, onWarning }: CatalogueSharing, message: NodeMessage): void => {
  pubsub
    .publish(message)
    .catch((error: unknown) => onWarning('an edit was not published to the other nodes', error));
};

const createNotifier =
  (profiles: InvalidatedProfiles, entity: EntityKind | 'team', sharing: CatalogueSharing) =>
  (id: string): void => {
    profiles.drop(id);
    publishEdit(sharing, { kind: 'profile', entity, id });
  };

/** Wraps an edit, so that the mirrored sessions it affects end with it. */
const createEnding =
  ({ changeSessions }: MirroredSessions) =>
  <Request extends readonly unknown[], Result>(
    edit: (...request: Request) => Promise<Result>,
    nameAffected: (...request: Request) => AffectedSessions,
  ) =>
  (...request: Request): Promise<Result> =>
    changeSessions(nameAffected(...request), () => edit(...request));

/** Ends the mirrored sessions of listings and people that operators change, delete or ban. */
const shareOperatorCatalogue = (
  operator: OperatorCatalogue,
  sessions: MirroredSessions,
): OperatorCatalogue => {
  const { people, listings } = operator;
  const end = createEnding(sessions);
  return {
    ...operator,
    people: { ...people, setBan: end(people.setBan, (id) => ({ bannable: id })) },
    listings: {
      ...listings,
      putServer: end(listings.putServer, (id) => ({ target: { kind: 'server', id } })),
      remove: end(listings.remove, (target) => ({ target })),
    },
  };
};

/** Tells the other nodes that endpoints changed. A node that misses it reads them within seconds. */
const shareWebhooks = (webhooks: Catalogue['webhooks'], sharing: CatalogueSharing): Catalogue['webhooks'] => {
  const announce = <Result>(result: Result): Result => {
    publishEdit(sharing, { kind: 'webhooks' });
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
  const end = createEnding(sessions);
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
        remove: end(bots.edits.remove, ({ botId }) => ({ target: { kind: 'bot', id: botId } })),
        transfer: end(bots.edits.transfer, ({ botId }) => ({ target: { kind: 'bot', id: botId } })),
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
        remove: end(teams.edits.remove, ({ teamId }) => ({ target: { kind: 'team', id: teamId } })),
      },
      members: {
        ...teams.members,
        edit: (request, change) =>
          change.permissions === null
            ? teams.members.edit(request, change)
            : sessions.changeSessions({ mintedBy: request.userId }, () =>
                teams.members.edit(request, change),
              ),
        remove: end(teams.members.remove, ({ userId }) => ({ mintedBy: userId })),
      },
    },
  };
};
