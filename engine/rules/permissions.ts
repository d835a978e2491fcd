/**
 * The catalogue of team permissions; `owner` implies all others (docs/behaviour/listings.md). Pure.
 */

const entries = [
  ['owner', 'Owner', 'General', true, 'Everything, and deleting the team.'],
  ['edit_team', 'Edit Team', 'General', false, "Change the team's name, text, tags and links."],
  ['set_vanity', 'Set Vanity', 'General', false, "Change the team's and its entities' vanity codes."],
  ['add_bots', 'Add New Bots', 'Bots', false, 'Add bots to the team, and receive transferred ones.'],
  ['edit_bots', 'Edit Bot Settings', 'Bots', false, "Change the settings of the team's bots."],
  ['delete_bots', 'Delete Bots', 'Bots', true, "Delete the team's bots, and transfer them away."],
  ['resubmit_bots', 'Resubmit Bots', 'Bots', false, "Ask for a new review of the team's denied bots."],
  [
    'request_bot_certification',
    'Request Certification',
    'Bots',
    false,
    "Apply for certification of the team's bots.",
  ],
  ['add_servers', 'Add New Servers', 'Servers', false, 'Add servers to the team.'],
  ['edit_servers', 'Edit Server Settings', 'Servers', false, "Change the settings of the team's servers."],
  ['delete_servers', 'Delete Servers', 'Servers', true, "Delete the team's servers."],
  [
    'manage_server_invites',
    'Manage Server Invites',
    'Servers',
    false,
    "Change how the team's servers are joined.",
  ],
  ['add_team_members', 'Add Team Members', 'Members', false, 'Add members to the team.'],
  ['edit_team_members', 'Edit Team Members', 'Members', true, "Change members' permissions and settings."],
  ['remove_team_members', 'Remove Team Members', 'Members', false, 'Remove members from the team.'],
  ['view_webhooks', 'View Webhooks', 'Webhooks', false, 'See the webhooks of the team and its entities.'],
  ['manage_webhooks', 'Manage Webhooks', 'Webhooks', false, 'Create, change and delete webhooks.'],
  ['view_webhook_logs', 'View Webhook Logs', 'Webhooks', false, 'Read the delivery logs of webhooks.'],
  ['delete_webhook_logs', 'Delete Webhook Logs', 'Webhooks', false, 'Delete the delivery logs of webhooks.'],
  ['manage_assets', 'Manage Assets', 'Content', false, 'Change avatars and banners.'],
  ['manage_owner_reviews', 'Manage Owner Reviews', 'Content', false, 'Answer reviews as the owner.'],
  ['view_sessions', 'View Sessions', 'API Access', false, 'List API sessions of the team and its entities.'],
  [
    'manage_sessions',
    'Manage Sessions',
    'API Access',
    true,
    'Create and revoke API sessions of the team and its entities.',
  ],
  [
    'redeem_vote_credits',
    'Redeem Vote Credits',
    'Votes',
    false,
    "Redeem the entities' votes for shop credits.",
  ],
] as const;

export type Permission = (typeof entries)[number][0];

/** One permission as clients see it (contract §2.8, TeamPermission). */
export interface PermissionInfo {
  readonly id: Permission;
  readonly name: string;
  readonly category: string;
  readonly dangerous: boolean;
  readonly desc: string;
}

export const permissionCatalogue: readonly PermissionInfo[] = entries.map(
  ([id, name, category, dangerous, desc]) => ({ id, name, category, dangerous, desc }),
);

const known: ReadonlySet<string> = new Set(permissionCatalogue.map(({ id }) => id));

export const isPermission = (id: string): id is Permission => known.has(id);

/** Lists the granted permissions in catalogue order; `owner` implies all. Drops unknown ids. */
export const expandPermissions = (granted: readonly string[]): readonly Permission[] =>
  permissionCatalogue.map(({ id }) => id).filter((id) => granted.includes(id) || granted.includes('owner'));

/** Whether the granted permissions include the needed one, itself or by `owner`. */
export const includesPermission = (granted: readonly string[], needed: Permission): boolean =>
  granted.includes('owner') || granted.includes(needed);

/** The same for a session with these limits; empty limits exclude nothing. */
export const isUsable = (
  granted: readonly string[],
  limits: readonly string[],
  needed: Permission,
): boolean =>
  includesPermission(granted, needed) && (limits.length === 0 || includesPermission(limits, needed));
