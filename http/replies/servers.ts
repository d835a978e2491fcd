/**
 * A server as clients see it: the profile from the catalogue with the engine's counters and its team.
 */
import type { HotState } from '../../engine/entity/state.ts';
import type { Soon } from '../../storage/catalogue/catalogue.ts';
import type { ServerProfile } from '../../storage/catalogue/servers.ts';
import type { App, Reply } from '../route.ts';
import type { Server } from '../schema/servers.ts';
import { type BotRequest, countOf, countVisit } from './bots.ts';
import { teamTargetsOf, teamText } from './teams.ts';
import { isPremium, notFound, soon, timestamp, votesOf, wordsOf } from './values.ts';

const serverOf = (
  profile: ServerProfile,
  state: HotState,
  nowMs: number,
): Omit<Server, 'long' | 'team_owner'> => ({
  approximate_votes: state.flushedVotes,
  avatar: profile.avatar,
  clicks: state.clicks,
  created_at: timestamp(profile.created_at),
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
  updated_at: timestamp(profile.updated_at),
  vanity: profile.vanity,
  vanity_ref: profile.vanity_ref,
  vote_banned: profile.vote_banned,
  votes: votesOf(state),
});

/** `GET /servers/{id}`. Shows the totals before this visit. */
export const showServer = (app: App, request: BotRequest): Soon<Reply> => {
  const targets = teamTargetsOf('team_includes', request.query.team_includes);
  const count = countOf(request);
  return soon(app.catalogue.servers.profile(request.params.id), (profile) => {
    if (profile === null) throw notFound('server');
    const long = wordsOf(request.query.include).includes('long') ? { long: profile.long } : {};
    return soon(teamText(app, profile.team_id, targets), (teamOwner) =>
      soon(app.engine.read('server', profile.id), (view) => {
        countVisit(app, view, count);
        const server = { ...serverOf(profile, view.state, app.clock.nowMs()), ...long };
        return { status: 200, text: `${JSON.stringify(server).slice(0, -1)},"team_owner":${teamOwner}}` };
      }),
    );
  });
};
