/**
 * Who may do what, written by hand from the interface and docs/behaviour.md ("Tokens", "Permissions"), one
 * line an operation; a test compares every line with what the server does.
 *
 * `kinds`: the tokens an operation takes. `needs`: a permission id, held by the caller on the entity and by
 * his session; `unlimited`: a user session without limits; `nothing`: any session of these kinds. An
 * operation that is not here, or is here and not in the table of rows, fails the test.
 */
import type { TokenKind } from '../../../engine/rules/token.ts';

export interface Expectation {
  /** Empty for a public operation. */
  readonly kinds: readonly TokenKind[];
  readonly needs: string;
  /** A banned user, or a banned user's bot, may do it all the same. */
  readonly banned?: 'may';
  /** Acts on no entity of its own, so there is no "somebody else's". */
  readonly target?: 'none';
}

const open: Expectation = { kinds: [], needs: 'nothing' };
const himself: Expectation = { kinds: ['user'], needs: 'unlimited' };
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
  createBot: { kinds: ['user', 'team'], needs: 'add_bots', target: 'none' },
  editBot: { kinds: ['user', 'bot', 'team'], needs: 'edit_bots' },
  deleteBot: onTeam('delete_bots'),
  transferBot: { kinds: ['user'], needs: 'delete_bots' },

  listServers: open,
  getServer: open,

  listTeamPermissions: open,
  getTeam: open,
  getTeamSeo: open,
  createTeam: { ...himself, target: 'none' },
  editTeam: onTeam('edit_team'),
  deleteTeam: onTeam('owner'),
  addTeamMember: onTeam('add_team_members'),
  editTeamMember: onTeam('edit_team_members'),
  removeTeamMember: onTeam('remove_team_members'),
  getPermissions: open,

  listPacks: open,
  getPack: open,
  getPackSeo: open,
  createPack: himself,
  editPack: himself,
  deletePack: himself,

  castVote: himself,
  getStanding: open,
  listUserVotes: open,
  listVoters: open,
  listCreditTiers: open,
  getCreditOverview: open,
  getCredits: open,
  redeemCredits: { kinds: all, needs: 'redeem_vote_credits' },

  getPositions: open,
  listApplications: { ...himself, banned: 'may' },
  createApplication: { ...himself, banned: 'may' },

  listReminders: himself,
  setReminder: himself,
  deleteReminder: himself,

  listPosts: open,
  getPost: open,
  getPostSeo: open,

  getVanity: open,
  followVanity: open,
  changeVanity: { kinds: all, needs: 'set_vanity' },

  listPublicCoupons: open,
  listShopItems: open,
  listItemBenefits: open,

  getPushInfo: open,
  listNotifications: himself,
  createNotification: himself,
  deleteNotification: himself,
};
