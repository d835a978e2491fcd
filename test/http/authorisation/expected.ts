/**
 * Who may do what, written by hand from the interface and docs/behaviour, one
 * entry per operation; a test compares every entry with what the server does.
 *
 * `kinds`: the tokens that an operation accepts. `needs`: a permission id that the caller and their session
 * must have on the entity; `unlimited`: a user session without limits; `nothing`: any session of these kinds.
 * The test fails if this table and the table of routes do not have the same operations.
 */
import type { TokenKind } from '../../../engine/rules/token.ts';

export interface Expectation {
  /** Empty for a public operation. */
  readonly kinds: readonly TokenKind[];
  readonly needs: string;
  /** `may`: banned users, and bots of banned users, can do it too. */
  readonly banned?: 'may';
  /** `none`: it acts on no existing entity, so there is no entity of another user to try. */
  readonly target?: 'none';
}

const open: Expectation = { kinds: [], needs: 'nothing' };
const selfOnly: Expectation = { kinds: ['user'], needs: 'unlimited' };
const all = ['user', 'bot', 'server', 'team'] as const;
const onTeam = (needs: string): Expectation => ({ kinds: ['user', 'team'], needs });

export const expected: Readonly<Record<string, Expectation>> = {
  listSessions: { kinds: all, needs: 'view_sessions' },
  createSession: { kinds: all, needs: 'manage_sessions' },
  revokeSession: { kinds: all, needs: 'manage_sessions' },
  getLoginUrl: open,
  logIn: open,
  testToken: open,

  listBots: open,
  randomBots: open,
  indexBots: open,
  getBot: open,
  getBotSeo: open,
  getBotMeta: { kinds: ['user', 'team'], needs: 'add_bots', target: 'none' },
  postStats: { kinds: ['bot'], needs: 'nothing', target: 'none', banned: 'may' },
  postShards: { kinds: ['bot'], needs: 'nothing', target: 'none', banned: 'may' },
  getShards: open,
  createBot: { kinds: ['user', 'team'], needs: 'add_bots', target: 'none' },
  editBot: { kinds: ['user', 'bot', 'team'], needs: 'edit_bots' },
  deleteBot: onTeam('delete_bots'),
  transferBot: { kinds: ['user'], needs: 'delete_bots' },

  listServers: open,
  getServer: open,

  listTeamPermissions: open,
  getTeam: open,
  getTeamSeo: open,
  createTeam: { ...selfOnly, target: 'none' },
  editTeam: onTeam('edit_team'),
  deleteTeam: onTeam('owner'),
  addTeamMember: onTeam('add_team_members'),
  editTeamMember: onTeam('edit_team_members'),
  removeTeamMember: onTeam('remove_team_members'),
  getPermissions: open,

  searchListings: open,
  listPacks: open,
  getPack: open,
  getPackSeo: open,
  createPack: selfOnly,
  editPack: selfOnly,
  deletePack: selfOnly,

  castVote: selfOnly,
  getStanding: open,
  getVoterSummary: open,
  listTopVoters: open,
  listRefs: open,
  listVoterSummaries: { ...selfOnly, target: 'none' },
  listUserVotes: open,
  listVoters: open,
  readVoteLog: open,
  readLeaderboard: open,
  readRank: open,

  listWebhooks: { kinds: all, needs: 'view_webhooks' },
  createWebhook: { kinds: all, needs: 'manage_webhooks' },
  editWebhook: { kinds: all, needs: 'manage_webhooks' },
  deleteWebhook: { kinds: all, needs: 'manage_webhooks' },
  replaceWebhookSecret: { kinds: all, needs: 'manage_webhooks' },
  testWebhook: { kinds: all, needs: 'manage_webhooks' },
  listWebhookDeliveries: { kinds: all, needs: 'view_webhook_logs' },
  clearWebhookDeliveries: { kinds: all, needs: 'delete_webhook_logs' },
  replayWebhook: { kinds: all, needs: 'manage_webhooks' },

  listCreditTiers: open,
  getCreditOverview: open,
  getCredits: open,
  redeemCredits: { kinds: all, needs: 'redeem_vote_credits' },

  getPositions: open,
  listApplications: { ...selfOnly, banned: 'may' },
  createApplication: { ...selfOnly, banned: 'may' },

  listReminders: selfOnly,
  setReminder: selfOnly,
  deleteReminder: selfOnly,

  listPosts: open,
  getPost: open,
  getPostSeo: open,

  getVanity: open,
  followVanity: open,
  changeVanity: { kinds: all, needs: 'set_vanity' },

  listPublicCoupons: open,
  listShopItems: open,
  listItemBenefits: open,

  getBadge: open,
  openFeed: open,
  getHistory: open,
  getVoteMonths: open,

  getPushInfo: open,
  listNotifications: selfOnly,
  createNotification: selfOnly,
  deleteNotification: selfOnly,
};
