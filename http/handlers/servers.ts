/**
 * Shows a server: the catalogue's profile, the engine's counters and the server's team.
 */
import type { HotState } from '../../engine/entity/state.ts';
import type { MaybePromise } from '../../storage/catalogue/catalogue.ts';
import type { ServerProfile } from '../../storage/catalogue/lists/servers.ts';
import type { App, Reply } from '../route.ts';
import type { Server } from '../schema/servers.ts';
import { countVisit, type ShowEntityRequest, toVisitCount } from './bots.ts';
import {
  computeVotes,
  createNotFoundError,
  isPremium,
  splitList,
  thenMaybe,
  toTimestamp,
} from './convert.ts';
import { parseTeamTargets, renderTeam } from './teams.ts';

const toServer = (
  profile: ServerProfile,
  state: HotState,
  nowMs: number,
): Omit<Server, 'long' | 'team_owner'> => ({
  approximate_votes: state.flushedVotes,
  avatar: profile.avatar,
  clicks: state.clicks,
  created_at: toTimestamp(profile.created_at),
  extra_links: [...profile.extra_links],
  invite: profile.invite,
  invite_clicks: state.inviteClicks,
  name: profile.name,
  nsfw: profile.nsfw,
  online_members: profile.online_members,
  premium: isPremium(profile.premium_until, nowMs),
  server_id: profile.id,
  short: profile.short,
  state: profile.state,
  tags: [...profile.tags],
  total_members: profile.total_members,
  type: profile.type,
  unique_clicks: state.uniqueClicks,
  updated_at: toTimestamp(profile.updated_at),
  vanity: profile.vanity,
  vanity_ref: profile.vanity_ref,
  vote_banned: profile.vote_banned,
  votes: computeVotes(state),
});

/** `GET /servers/{id}`. The reply shows the totals before this visit. */
export const showServer = (app: App, request: ShowEntityRequest): MaybePromise<Reply> => {
  const targets = parseTeamTargets('team_includes', request.query.team_includes);
  const count = toVisitCount(request);
  return thenMaybe(app.catalogue.servers.find(request.params.id), (profile) => {
    if (profile === null) throw createNotFoundError('server');
    const long = splitList(request.query.include).includes('long') ? { long: profile.long } : {};
    return thenMaybe(renderTeam(app, profile.team_id, targets), (teamOwner) =>
      thenMaybe(app.engine.read('server', profile.id), (view) => {
        countVisit(app, view, count);
        const server = { ...toServer(profile, view.state, app.clock.nowMs()), ...long };
        return { status: 200, text: `${JSON.stringify(server).slice(0, -1)},"team_owner":${teamOwner}}` };
      }),
    );
  });
};
