/**
 * The demo directory as import lines: a few hundred bots, servers, teams, packs and users that look lived in.
 *
 * Deterministic in seed and time, so that a load cut off half-way is simply repeated. Owns the cast: the two
 * users, the team, bot, server and pack that the demo tokens belong to. Totals of votes equal the vote rows.
 * Ages spread over two years before `nowMs`. Loaded by demo.ts through the import like any operator's file.
 */
import type {
  BotRecord,
  ImportRecord,
  PackRecord,
  ServerRecord,
  TeamRecord,
  UserRecord,
} from '../../storage/import/schema.ts';
import { createDice, type Dice, popularity } from './random.ts';
import { castVotes } from './votes.ts';
import {
  adjectives,
  animals,
  collectives,
  gatherings,
  libraries,
  nouns,
  packNames,
  type Theme,
  themes,
} from './words.ts';

export const demoSizes = { users: 400, teams: 40, servers: 60, bots: 300, packs: 30 } as const;

/** Who the demo tokens speak for. */
export interface DemoCast {
  readonly user: string;
  readonly secondUser: string;
  readonly bot: string;
  readonly server: string;
  readonly team: string;
  readonly pack: string;
}
export interface DemoDirectory {
  readonly cast: DemoCast;
  readonly records: readonly ImportRecord[];
}

/** What the makers below share. */
interface World {
  readonly dice: Dice;
  readonly nowMs: number;
  nextId: number;
}

const dayMs = 86_400_000;
const ageMaxMs = 2 * 365 * dayMs;
/** Ids carry their time like those of the chat platform: milliseconds since 2015 in the upper bits. */
const idEpochMs = 1_420_070_400_000;

/** Builds the whole directory, in an order in which everything named stands before what names it. */
export const generateDemo = (seed: number, nowMs: number): DemoDirectory => {
  const world: World = { dice: createDice(seed), nowMs, nextId: 1 };
  const users = Array.from({ length: demoSizes.users }, (_, index) => makeUser(world, index));
  const [owner, second] = users as [UserRecord, UserRecord, ...UserRecord[]];
  const others = users.slice(2);
  const teams = Array.from({ length: demoSizes.teams }, (_, index) =>
    makeTeam(world, index, { owner, others }),
  );
  const names = world.dice.sample(productNames(), demoSizes.bots);
  const bots = names.map((name, rank) => makeBot(world, name, { rank, owners: others, teams }));
  const servers = Array.from({ length: demoSizes.servers }, (_, rank) => makeServer(world, rank, teams));
  const packs = Array.from({ length: demoSizes.packs }, (_, index) =>
    makePack(world, index, { owner: index === 0 ? owner : world.dice.pick(others), bots, servers }),
  );
  const votes = castVotes(
    { dice: world.dice, nowMs, voters: others.map(({ id }) => id) },
    { bots, servers, teams, packs },
  );
  const team = teams[0] as TeamRecord;
  const cast: DemoCast = {
    user: owner.id,
    secondUser: second.id,
    bot: (bots[castRank] as BotRecord).bot_id,
    server: (servers[castRank] as ServerRecord).server_id,
    team: team.id,
    pack: (packs[0] as PackRecord).url,
  };
  return { cast, records: [...users, ...teams, ...byAge(servers), ...byAge(bots), ...packs, ...votes] };
};

/** The cast's bot and server are popular, not the first. */
const castRank = 4;

const byAge = <Kind extends { created_at?: string }>(records: readonly Kind[]): Kind[] =>
  [...records].sort((a, b) => ((a.created_at ?? '') < (b.created_at ?? '') ? -1 : 1));

const iso = (ms: number): string => new Date(ms).toISOString();

/** A moment in the last two years, recent ones a little more often; whole seconds. */
const someTimeAgo = (world: World, minMs = dayMs): number =>
  Math.floor((world.nowMs - minMs - world.dice.next() ** 1.3 * (ageMaxMs - minMs)) / 1000) * 1000;

/** What is popular has had time to become so. */
const bornAt = (world: World, rank: number): number =>
  someTimeAgo(world, rank < popularRanks ? ageMaxMs / 3 : dayMs);
const popularRanks = 40;

const platformId = (world: World, bornMs: number): string =>
  String((BigInt(bornMs - idEpochMs) << 22n) + BigInt(world.nextId++));

const makeUser = (world: World, index: number): UserRecord => {
  const adjective = adjectives[index % adjectives.length] as string;
  const animal = animals[Math.floor(index / adjectives.length) % animals.length] as string;
  const bornMs = someTimeAgo(world);
  return {
    kind: 'user',
    id: platformId(world, bornMs),
    username: `${adjective}${animal}`.toLowerCase(),
    display_name: `${adjective} ${animal}`,
    status: world.dice.pick(['online', 'idle', 'dnd', 'offline', 'offline']),
    created_at: iso(bornMs),
  };
};

const makeTeam = (
  world: World,
  index: number,
  people: { owner: UserRecord; others: UserRecord[] },
): TeamRecord => {
  const { dice } = world;
  const bornMs = bornAt(world, index);
  const members = dice.sample(people.others, dice.integer(2, 6));
  const founder = index === 0 ? people.owner : (members.pop() as UserRecord);
  const name = `${nouns[index % nouns.length]} ${dice.pick(collectives)}`;
  return {
    kind: 'team',
    id: dice.uuid(),
    name,
    short: `${name} builds small, careful tools for communities.`,
    service: 'api',
    itag: dice.uuid(),
    vanity_ref: dice.uuid(),
    created_at: iso(bornMs),
    updated_at: iso(bornMs),
    members: [
      { user_id: founder.id, perms: ['owner'], data_holder: true, mentionable: true },
      ...members.map(({ id }) => ({
        user_id: id,
        perms: dice.sample(memberPermissions, dice.integer(1, 3)),
      })),
    ].map((member) => ({ ...member, itag: dice.uuid(), service: 'api' as const, created_at: iso(bornMs) })),
  };
};

const memberPermissions = ['edit_bots', 'add_bots', 'view_sessions', 'set_vanity', 'edit_servers'] as const;

interface Product {
  readonly name: string;
  readonly theme: Theme;
}
const productNames = (): Product[] =>
  nouns.flatMap((noun) => themes.map((theme) => ({ name: `${noun} ${theme.role}`, theme })));

const listType = (dice: Dice, rank: number): 'certified' | 'approved' | 'pending' | 'denied' => {
  if (rank < 40 && rank !== castRank && dice.chance(0.4)) return 'certified';
  if (rank < 200) return 'approved';
  return dice.pick(['approved', 'approved', 'approved', 'approved', 'pending', 'denied']);
};

interface BotPlace {
  readonly rank: number;
  readonly owners: readonly UserRecord[];
  readonly teams: readonly TeamRecord[];
}

const makeBot = (world: World, { name, theme }: Product, place: BotPlace): BotRecord => {
  const { dice } = world;
  const { rank } = place;
  const bornMs = bornAt(world, rank);
  const id = platformId(world, bornMs);
  const type = listType(dice, rank);
  const team = rank === castRank ? place.teams[0] : dice.chance(0.3) ? dice.pick(place.teams) : undefined;
  return {
    kind: 'bot',
    bot_id: id,
    client_id: id,
    ...(team ? { team_owner: team.id } : { owner: dice.pick(place.owners).id }),
    user: { username: name, display_name: name, status: 'online' },
    type,
    library: dice.pick(libraries),
    prefix: dice.pick(['!', '?', '/', '.', '+', `${name[0]?.toLowerCase()}!`]),
    short: `${name} ${theme.does}.`,
    long: describe(dice, name, theme),
    invite: `https://chat.example/invite/${id}`,
    tags: dice.sample(theme.tags, dice.integer(1, theme.tags.length)),
    extra_links: dice.chance(0.6) ? [{ name: 'Documentation', value: `https://docs.example/${id}` }] : [],
    itag: dice.uuid(),
    vanity_ref: dice.uuid(),
    ...(type === 'pending' ? {} : { approval_note: 'Tested, works as described.' }),
    ...(type === 'certified' ? { cert_reason: 'Well kept for a long time.' } : {}),
    ...(rank !== castRank && dice.chance(0.06) ? premiumOf(world) : {}),
    created_at: iso(bornMs),
    updated_at: iso(bornMs + Math.floor(dice.next() * (world.nowMs - bornMs))),
    ...botTotals(world, { rank, bornMs, listed: type === 'approved' || type === 'certified' }),
  };
};

const premiumOf = (world: World): Pick<BotRecord, 'start_premium_period' | 'premium_period_length'> => ({
  start_premium_period: iso(world.nowMs - world.dice.integer(1, 10) * dayMs),
  premium_period_length: 24 * world.dice.pick([14, 30, 90]),
});

/** Text of 500 to about 900 characters. */
const describe = (dice: Dice, name: string, theme: Theme): string => {
  const general = [
    `${name} ${theme.does}.`,
    `It was made for communities that would rather talk to each other than read manuals.`,
    ...theme.details,
    `Setting it up takes about two minutes: invite it, choose a channel, and say hello.`,
    `Everything it stores can be seen with one command and deleted with another.`,
    ...dice.sample(closings, 3),
  ];
  return `# ${name}\n\n${general.slice(0, 3).join(' ')}\n\n${general.slice(3).join(' ')}`;
};

const closings: readonly string[] = [
  'It speaks nine languages, and corrections from native speakers are welcome.',
  'The source of its commands is public, and so is its list of known faults.',
  'It answers within a second and says so when it cannot.',
  'Support is given by volunteers, usually on the same day.',
  'There are no paid features, only a jar for thanks.',
  'Updates are announced a week ahead and can be put off.',
];

const checkMs = 300_000;
const checksPerDay = dayMs / checkMs;

interface Life {
  readonly rank: number;
  readonly bornMs: number;
  readonly listed: boolean;
}
const botTotals = (world: World, { rank, bornMs, listed }: Life): Partial<BotRecord> => {
  const { dice, nowMs } = world;
  if (!listed) return {};
  const servers = popularity(dice, rank, 180_000) + dice.integer(1, 12);
  const shards = Math.ceil(servers / 1_000);
  const clicks = popularity(dice, rank, 90_000) + dice.integer(3, 60);
  const checks = Math.floor(((nowMs - bornMs) / dayMs) * checksPerDay);
  const checked = Math.floor(nowMs / checkMs) * checkMs;
  return {
    clicks,
    unique_clicks: Math.floor(clicks * (0.45 + dice.next() * 0.25)),
    invite_clicks: Math.floor(clicks * (0.05 + dice.next() * 0.1)),
    servers,
    shards,
    users: servers * dice.integer(40, 180),
    shard_list: shards <= 64 ? shareOut(servers, shards) : [],
    status: dice.pick(['online', 'online', 'online', 'online', 'idle', 'dnd']),
    last_stats_post: iso(nowMs - dice.integer(10, 14 * 60) * 1000),
    uptime: Math.floor(checks * (1 - dice.next() ** 4 * 0.3)),
    total_uptime: checks,
    uptime_last_checked: iso(checked),
    listed_since: iso(bornMs),
  };
};

/** Servers per shard, even but for the remainder. */
const shareOut = (servers: number, shards: number): number[] =>
  Array.from({ length: shards }, (_, index) => Math.floor((servers + index) / shards));

const makeServer = (world: World, rank: number, teams: readonly TeamRecord[]): ServerRecord => {
  const { dice } = world;
  const bornMs = bornAt(world, rank);
  const place = gatherings[(rank * 7 + Math.floor(rank / 20)) % gatherings.length];
  const name = `${adjectives[rank % adjectives.length]} ${place}`;
  const clicks = popularity(dice, rank, 20_000) + dice.integer(2, 30);
  const members = popularity(dice, rank, 60_000) + dice.integer(20, 200);
  const isCast = rank === castRank;
  return {
    kind: 'server',
    server_id: platformId(world, bornMs),
    team_owner: (isCast ? (teams[0] as TeamRecord) : dice.pick(teams)).id,
    type: isCast || dice.chance(0.85) ? 'approved' : dice.pick(['certified', 'pending']),
    state: isCast || dice.chance(0.92) ? 'public' : dice.pick(['private', 'unlisted']),
    name,
    short: `${name} is a place to share unfinished things and slow afternoons.`,
    long: `${name} began among friends and kept its manners. New voices are greeted at the door.`,
    invite: `https://chat.example/join/${name.toLowerCase().replaceAll(' ', '-')}-${rank}`,
    tags: dice.sample(['community', 'friendly', 'art', 'games', 'reading', 'music'], dice.integer(1, 3)),
    itag: dice.uuid(),
    vanity_ref: dice.uuid(),
    total_members: members,
    online_members: Math.floor(members * (0.08 + dice.next() * 0.2)),
    created_at: iso(bornMs),
    updated_at: iso(bornMs),
    clicks,
    unique_clicks: Math.floor(clicks * 0.6),
    invite_clicks: Math.floor(clicks * 0.12),
  };
};

interface PackPlace {
  readonly owner: UserRecord;
  readonly bots: readonly BotRecord[];
  readonly servers: readonly ServerRecord[];
}
const makePack = (world: World, index: number, { owner, bots, servers }: PackPlace): PackRecord => {
  const { dice } = world;
  const name = packNames[index % packNames.length] as string;
  const number = Math.floor(index / packNames.length) + 1;
  const listed = bots.filter(({ type }) => type === 'approved' || type === 'certified');
  const chosen = index === 0 ? [bots[castRank] as BotRecord] : [];
  return {
    kind: 'pack',
    url: `${name.toLowerCase().replaceAll(' ', '-')}${number > 1 ? `-${number}` : ''}`,
    owner: owner.id,
    name: number > 1 ? `${name} ${number}` : name,
    short: `What we install first: ${name.toLowerCase()}, tried for a year.`,
    tags: dice.sample(['starter', 'favourites', 'games', 'calm'], dice.integer(1, 2)),
    bot_ids: [...new Set([...chosen, ...dice.sample(listed, dice.integer(3, 8))])].map(
      ({ bot_id }) => bot_id,
    ),
    server_ids: dice.sample(servers, dice.integer(0, 3)).map(({ server_id }) => server_id),
    created_at: iso(someTimeAgo(world)),
  };
};
