/**
 * What the pages of bots, servers, teams and packs show of what people edit. Pure.
 */

import type { PackPage, PackRow } from '../../storage/catalogue/packs/packs.ts';
import type { IndexBotRow, IndexServerRow, Premium } from '../../storage/catalogue/shared/index-rows.ts';
import type { PersonRow } from '../../storage/catalogue/shared/people.ts';
import type { BotProfile, ListingProfile, ServerProfile } from '../../storage/catalogue/shared/profiles.ts';
import type { TeamHoldings, TeamProfile } from '../../storage/catalogue/teams/teams.ts';
import { isPremium } from '../api/shared/convert.ts';
import { formatNumber, toListedBot, toListedServer, toListingPath, toPackPath } from './entities.ts';
import type { Fact, Listing } from './listing-html.ts';
import { type Html, type HtmlValue, render, renderSlot } from './site.ts';

export interface DescribedListing {
  readonly listing: Listing;
  /** When the description changes without an edit (premium begins or ends), ms; infinite for never. */
  readonly untilMs: number;
}

/** Whether the invite can be followed: an https address. */
export const hasInvite = ({ invite }: Pick<ListingProfile, 'invite'>): boolean =>
  invite.startsWith('https://') && URL.canParse(invite);

/** An invite that is not followed is shown as what it is: text. */
const listInviteText = (profile: Pick<ListingProfile, 'invite'>): Fact[] =>
  profile.invite.trim() === '' || hasInvite(profile)
    ? []
    : [['Invite', render`<code dir="auto">${profile.invite}</code>`]];

const renderDate = (date: Date): Html => {
  const iso = date.toISOString();
  return render`<time datetime="${iso}">${iso.slice(0, 10)}</time>`;
};

const renderLive = (name: string): Html => render`<span data-live="${name}">${renderSlot(name)}</span>`;

const readName = (person: PersonRow | null, id: string): string =>
  person?.display_name || person?.username || id;

const computeUntilMs = ({ premium_from: from, premium_until: until }: Premium, nowMs: number): number =>
  Math.min(...[from, until].map((date) => date?.getTime() ?? 0).filter((atMs) => atMs > nowMs));

const listMarks = (profile: ListingProfile, nowMs: number): string[] => [
  ...(profile.type === 'certified' ? ['Certified'] : []),
  ...(isPremium(profile, nowMs) ? ['Premium'] : []),
];

const explainHidden = (type: string): string => {
  if (type === 'pending') return 'It waits for a review, so it is not listed yet.';
  return type === 'denied' ? 'It was not accepted, so it is not listed.' : '';
};

const renderTeamLink = (team: Pick<TeamProfile, 'vanity' | 'id' | 'name'>): HtmlValue =>
  render`<a href="${toListingPath(team.vanity || team.id)}" dir="auto">${team.name}</a>`;

const listDates = ({ created_at, updated_at }: Pick<ListingProfile, 'created_at' | 'updated_at'>): Fact[] => [
  ['Added', renderDate(created_at)],
  ['Changed', renderDate(updated_at)],
];

/** Describes what bots and servers have in common. */
const describeProfile = (profile: ListingProfile, nowMs: number) => ({
  id: profile.id,
  path: toListingPath(profile.vanity || profile.id),
  short: profile.short,
  about: null,
  isAboutCut: false,
  tags: profile.tags,
  nsfw: profile.nsfw,
  links: profile.extra_links,
  marks: listMarks(profile, nowMs),
  hidden: explainHidden(profile.type),
  voteBanned: profile.vote_banned,
  lists: [],
});

const votes = ['votes', 'Votes'] as const;
const views = ['clicks', 'Views'] as const;

export const describeBot = (
  profile: BotProfile,
  team: TeamProfile | null,
  nowMs: number,
): DescribedListing => {
  const owner: HtmlValue =
    team === null
      ? render`<span dir="auto">${readName(profile.owner, profile.owner_id ?? '')}</span>`
      : renderTeamLink(team);
  const facts: Fact[] = [
    ['Servers', renderLive('servers')],
    ['Users', renderLive('users')],
    ['Shards', renderLive('shards')],
    ['Uptime', renderSlot('uptime')],
    ['Views', renderLive('clicks')],
    ['Invites', renderLive('invite_clicks')],
    ['Prefix', profile.prefix === '' ? 'none' : render`<code dir="auto">${profile.prefix}</code>`],
    ['Library', profile.library === '' ? 'unknown' : render`<span dir="auto">${profile.library}</span>`],
    [team === null ? 'Owner' : 'Team', owner],
    ['Last numbers', renderSlot('last_post')],
    ...listInviteText(profile),
    ...listDates(profile),
  ];
  const described = describeProfile(profile, nowMs);
  const reason = profile.type === 'denied' ? ` ${profile.approval_note}` : '';
  const listing: Listing = {
    ...described,
    kind: 'bot',
    hidden: `${described.hidden}${reason}`.trim(),
    name: readName(profile.person, profile.id),
    avatar: profile.person?.avatar ?? '',
    invites: hasInvite(profile) ? 'Add to a server' : '',
    facts,
    metrics: [votes, ['servers', 'Servers'], ['users', 'Users'], views],
  };
  return { listing, untilMs: computeUntilMs(profile, nowMs) };
};

export const describeServer = (
  profile: ServerProfile,
  team: TeamProfile | null,
  nowMs: number,
): DescribedListing => {
  const described = describeProfile(profile, nowMs);
  const facts: Fact[] = [
    ['Members', formatNumber(profile.total_members)],
    ['Online', formatNumber(profile.online_members)],
    ['Views', renderLive('clicks')],
    ['Invites', renderLive('invite_clicks')],
    ...(team === null ? [] : [['Team', renderTeamLink(team)] as const]),
    ...listInviteText(profile),
    ...listDates(profile),
  ];
  const listing: Listing = {
    ...described,
    kind: 'server',
    name: profile.name,
    avatar: profile.avatar,
    hidden: described.hidden || (profile.state === 'public' ? '' : 'It is not public, so it is not listed.'),
    invites: hasInvite(profile) ? 'Join' : '',
    facts,
    metrics: [votes, views],
  };
  return { listing, untilMs: computeUntilMs(profile, nowMs) };
};

/** What teams and packs do not have. */
const plainListing = {
  avatar: '',
  about: null,
  isAboutCut: false,
  marks: [],
  hidden: '',
  invites: '',
  metrics: [votes],
} as const;

/** Describes a team. `holdings` is `null` when its lists cannot be read. */
export const describeTeam = (profile: TeamProfile, holdings: TeamHoldings | null): Listing => ({
  ...plainListing,
  kind: 'team',
  id: profile.id,
  path: toListingPath(profile.vanity || profile.id),
  name: profile.name,
  short: holdings === null ? `${profile.short} (Its lists are not available at the moment.)` : profile.short,
  tags: profile.tags,
  nsfw: profile.nsfw,
  links: profile.extra_links,
  voteBanned: profile.vote_banned,
  facts: [
    ...(holdings?.members ?? [])
      .filter(({ mentionable }) => mentionable)
      .slice(0, 20)
      .map(
        ({ person, user_id }) =>
          ['Member', render`<span dir="auto">${readName(person, user_id)}</span>`] as const,
      ),
    ...listDates(profile),
  ],
  lists: groupListed(holdings?.bots ?? [], holdings?.servers ?? []),
});

const isListed = ({ type, state = 'public' }: { readonly type: string; readonly state?: string }): boolean =>
  (type === 'approved' || type === 'certified') && state === 'public';

/** Groups the listed bots and servers by kind, without empty groups. */
const groupListed = (bots: readonly IndexBotRow[], servers: readonly IndexServerRow[]) =>
  [
    { title: 'Bots', entities: bots.filter(isListed).map(toListedBot) },
    { title: 'Servers', entities: servers.filter(isListed).map(toListedServer) },
  ].filter(({ entities }) => entities.length > 0);

export const describePack = (pack: PackRow, { bots, servers }: PackPage): Listing => ({
  ...plainListing,
  kind: 'pack',
  id: pack.url,
  path: toPackPath(pack.url),
  name: pack.name,
  short: pack.short,
  tags: pack.tags,
  nsfw: false,
  links: [],
  voteBanned: pack.vote_banned,
  facts: [
    ['Owner', render`<span dir="auto">${readName(pack.owner, pack.owner_id)}</span>`],
    ['Added', renderDate(pack.created_at)],
  ],
  lists: groupListed(
    pack.bot_ids.flatMap((id) => bots.get(id) ?? []),
    pack.server_ids.flatMap((id) => servers.get(id) ?? []),
  ),
});
