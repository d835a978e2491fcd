/**
 * Generates the import records of the demo directory: a few hundred realistic bots, servers, teams, packs
 * and users.
 *
 * The same seed and time give the same records, so that an unfinished load can be repeated. Chooses the
 * cast: the two users, the team, bot, server and pack that the demo tokens belong to. Totals equal the vote
 * records. Entities are up to two years old at `nowMs`. demo.ts imports the records like an operator's file.
 */
import type {
  BotRecord,
  ImportRecord,
  PackRecord,
  ServerRecord,
  TeamRecord,
  UserRecord,
} from '../../storage/import/schema.ts';
import { computePopularity, createRandom, type Random } from './random.ts';
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
} from './vocabulary.ts';
import { castVotes } from './votes.ts';

export const demoSizes = { users: 400, teams: 40, servers: 60, bots: 300, packs: 30 } as const;

/** The ids of the users and entities that own the demo tokens. */
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

/** The state that all functions below share. */
interface DemoWorld {
  readonly random: Random;
  readonly nowMs: number;
  nextId: number;
}

const dayMs = 86_400_000;
const ageMaxMs = 2 * 365 * dayMs;
/** Ids contain their time, as on the chat platform: milliseconds since 2015 in the upper bits. */
const idEpochMs = 1_420_070_400_000;

/** Generates the whole directory; each record comes after the records it refers to. */
export const generateDemo = (seed: number, nowMs: number): DemoDirectory => {
  const world: DemoWorld = { random: createRandom(seed), nowMs, nextId: 1 };
  const users = Array.from({ length: demoSizes.users }, (_, index) => makeUser(world, index));
  const [owner, second] = users as [UserRecord, UserRecord, ...UserRecord[]];
  const others = users.slice(2);
  const teams = Array.from({ length: demoSizes.teams }, (_, index) =>
    makeTeam(world, index, { owner, others }),
  );
  const names = world.random.sample(listProductNames(), demoSizes.bots);
  const bots = names.map((name, rank) => makeBot(world, name, { rank, owners: others, teams }));
  const servers = Array.from({ length: demoSizes.servers }, (_, rank) => makeServer(world, rank, teams));
  const packs = Array.from({ length: demoSizes.packs }, (_, index) =>
    makePack(world, index, { owner: index === 0 ? owner : world.random.pick(others), bots, servers }),
  );
  const votes = castVotes(
    { dice: world.random, nowMs, voters: others.map(({ id }) => id) },
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
  return {
    cast,
    records: [...users, ...teams, ...sortByAge(servers), ...sortByAge(bots), ...packs, ...votes],
  };
};

/** The cast's bot and server are popular, but not the most popular. */
const castRank = 4;

const sortByAge = <Kind extends { created_at?: string }>(records: readonly Kind[]): Kind[] =>
  [...records].sort((a, b) => ((a.created_at ?? '') < (b.created_at ?? '') ? -1 : 1));

const formatMs = (ms: number): string => new Date(ms).toISOString();

/** A time within the last two years in whole seconds, ms; recent times are slightly more likely. */
const pickTimeMs = (world: DemoWorld, minMs = dayMs): number =>
  Math.floor((world.nowMs - minMs - world.random.next() ** 1.3 * (ageMaxMs - minMs)) / 1000) * 1000;

/** Popular entities are older. */
const pickBirthMs = (world: DemoWorld, rank: number): number =>
  pickTimeMs(world, rank < popularRanks ? ageMaxMs / 3 : dayMs);
const popularRanks = 40;

const makePlatformId = (world: DemoWorld, bornMs: number): string =>
  String((BigInt(bornMs - idEpochMs) << 22n) + BigInt(world.nextId++));

const makeUser = (world: DemoWorld, index: number): UserRecord => {
  const adjective = adjectives[index % adjectives.length] as string;
  const animal = animals[Math.floor(index / adjectives.length) % animals.length] as string;
  const bornMs = pickTimeMs(world);
  return {
    kind: 'user',
    id: makePlatformId(world, bornMs),
    username: `${adjective}${animal}`.toLowerCase(),
    display_name: `${adjective} ${animal}`,
    status: world.random.pick(['online', 'idle', 'dnd', 'offline', 'offline']),
    created_at: formatMs(bornMs),
  };
};

const makeTeam = (
  world: DemoWorld,
  index: number,
  people: { owner: UserRecord; others: UserRecord[] },
): TeamRecord => {
  const { random } = world;
  const bornMs = pickBirthMs(world, index);
  const members = random.sample(people.others, random.integer(2, 6));
  const founder = index === 0 ? people.owner : (members.pop() as UserRecord);
  const name = `${nouns[index % nouns.length]} ${random.pick(collectives)}`;
  return {
    kind: 'team',
    id: random.uuid(),
    name,
    short: `${name} builds small, careful tools for communities.`,
    service: 'api',
    itag: random.uuid(),
    vanity_ref: random.uuid(),
    created_at: formatMs(bornMs),
    updated_at: formatMs(bornMs),
    members: [
      { user_id: founder.id, perms: ['owner'], data_holder: true, mentionable: true },
      ...members.map(({ id }) => ({
        user_id: id,
        perms: random.sample(memberPermissions, random.integer(1, 3)),
      })),
    ].map((member) => ({
      ...member,
      itag: random.uuid(),
      service: 'api' as const,
      created_at: formatMs(bornMs),
    })),
  };
};

const memberPermissions = ['edit_bots', 'add_bots', 'view_sessions', 'set_vanity', 'edit_servers'] as const;

interface Product {
  readonly name: string;
  readonly theme: Theme;
}
const listProductNames = (): Product[] =>
  nouns.flatMap((noun) => themes.map((theme) => ({ name: `${noun} ${theme.role}`, theme })));

const listType = (random: Random, rank: number): 'certified' | 'approved' | 'pending' | 'denied' => {
  if (rank < 40 && rank !== castRank && random.chance(0.4)) return 'certified';
  if (rank < 200) return 'approved';
  return random.pick(['approved', 'approved', 'approved', 'approved', 'pending', 'denied']);
};

interface BotPlace {
  readonly rank: number;
  readonly owners: readonly UserRecord[];
  readonly teams: readonly TeamRecord[];
}

const makeBot = (world: DemoWorld, { name, theme }: Product, place: BotPlace): BotRecord => {
  const { random } = world;
  const { rank } = place;
  const bornMs = pickBirthMs(world, rank);
  const id = makePlatformId(world, bornMs);
  const type = listType(random, rank);
  const team = rank === castRank ? place.teams[0] : random.chance(0.3) ? random.pick(place.teams) : undefined;
  return {
    kind: 'bot',
    bot_id: id,
    client_id: id,
    ...(team ? { team_owner: team.id } : { owner: random.pick(place.owners).id }),
    user: { username: name, display_name: name, status: 'online' },
    type,
    library: random.pick(libraries),
    prefix: random.pick(['!', '?', '/', '.', '+', `${name[0]?.toLowerCase()}!`]),
    short: `${name} ${theme.does}.`,
    long: describe(random, name, theme),
    invite: `https://chat.example/invite/${id}`,
    tags: random.sample(theme.tags, random.integer(1, theme.tags.length)),
    extra_links: random.chance(0.6) ? [{ name: 'Documentation', value: `https://docs.example/${id}` }] : [],
    itag: random.uuid(),
    vanity_ref: random.uuid(),
    ...(type === 'pending' ? {} : { approval_note: 'Tested, works as described.' }),
    ...(type === 'certified' ? { cert_reason: 'Well kept for a long time.' } : {}),
    ...(rank !== castRank && random.chance(0.06) ? makePremium(world) : {}),
    created_at: formatMs(bornMs),
    updated_at: formatMs(bornMs + Math.floor(random.next() * (world.nowMs - bornMs))),
    ...makeBotTotals(world, { rank, bornMs, listed: type === 'approved' || type === 'certified' }),
  };
};

const makePremium = (
  world: DemoWorld,
): Pick<BotRecord, 'start_premium_period' | 'premium_period_length'> => ({
  start_premium_period: formatMs(world.nowMs - world.random.integer(1, 10) * dayMs),
  premium_period_length: 24 * world.random.pick([14, 30, 90]),
});

/** Text of 500 to about 900 characters. */
const describe = (random: Random, name: string, theme: Theme): string => {
  const general = [
    `${name} ${theme.does}.`,
    `It was made for communities that would rather talk to each other than read manuals.`,
    ...theme.details,
    `Setting it up takes about two minutes: invite it, choose a channel, and say hello.`,
    `Everything it stores can be seen with one command and deleted with another.`,
    ...random.sample(closings, 3),
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

interface BotLife {
  readonly rank: number;
  readonly bornMs: number;
  readonly listed: boolean;
}
const makeBotTotals = (world: DemoWorld, { rank, bornMs, listed }: BotLife): Partial<BotRecord> => {
  const { random, nowMs } = world;
  if (!listed) return {};
  const servers = computePopularity(random, rank, 180_000) + random.integer(1, 12);
  const shards = Math.ceil(servers / 1_000);
  const clicks = computePopularity(random, rank, 90_000) + random.integer(3, 60);
  const checks = Math.floor(((nowMs - bornMs) / dayMs) * checksPerDay);
  const checked = Math.floor(nowMs / checkMs) * checkMs;
  return {
    clicks,
    unique_clicks: Math.floor(clicks * (0.45 + random.next() * 0.25)),
    invite_clicks: Math.floor(clicks * (0.05 + random.next() * 0.1)),
    servers,
    shards,
    users: servers * random.integer(40, 180),
    shard_list: shards <= 64 ? shareOut(servers, shards) : [],
    status: random.pick(['online', 'online', 'online', 'online', 'idle', 'dnd']),
    last_stats_post: formatMs(nowMs - random.integer(10, 14 * 60) * 1000),
    uptime: Math.floor(checks * (1 - random.next() ** 4 * 0.3)),
    total_uptime: checks,
    uptime_last_checked: formatMs(checked),
    listed_since: formatMs(bornMs),
  };
};

/** Distributes the servers evenly over the shards. */
const shareOut = (servers: number, shards: number): number[] =>
  Array.from({ length: shards }, (_, index) => Math.floor((servers + index) / shards));

const makeServer = (world: DemoWorld, rank: number, teams: readonly TeamRecord[]): ServerRecord => {
  const { random } = world;
  const bornMs = pickBirthMs(world, rank);
  const place = gatherings[(rank * 7 + Math.floor(rank / 20)) % gatherings.length];
  const name = `${adjectives[rank % adjectives.length]} ${place}`;
  const clicks = computePopularity(random, rank, 20_000) + random.integer(2, 30);
  const members = computePopularity(random, rank, 60_000) + random.integer(20, 200);
  const isCast = rank === castRank;
  return {
    kind: 'server',
    server_id: makePlatformId(world, bornMs),
    team_owner: (isCast ? (teams[0] as TeamRecord) : random.pick(teams)).id,
    type: isCast || random.chance(0.85) ? 'approved' : random.pick(['certified', 'pending']),
    state: isCast || random.chance(0.92) ? 'public' : random.pick(['private', 'unlisted']),
    name,
    short: `${name} is a place to share unfinished things and slow afternoons.`,
    long: `${name} began among friends and kept its manners. New voices are greeted at the door.`,
    invite: `https://chat.example/join/${name.toLowerCase().replaceAll(' ', '-')}-${rank}`,
    tags: random.sample(['community', 'friendly', 'art', 'games', 'reading', 'music'], random.integer(1, 3)),
    itag: random.uuid(),
    vanity_ref: random.uuid(),
    total_members: members,
    online_members: Math.floor(members * (0.08 + random.next() * 0.2)),
    created_at: formatMs(bornMs),
    updated_at: formatMs(bornMs),
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
const makePack = (world: DemoWorld, index: number, { owner, bots, servers }: PackPlace): PackRecord => {
  const { random } = world;
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
    tags: random.sample(['starter', 'favourites', 'games', 'calm'], random.integer(1, 2)),
    bot_ids: [...new Set([...chosen, ...random.sample(listed, random.integer(3, 8))])].map(
      ({ bot_id }) => bot_id,
    ),
    server_ids: random.sample(servers, random.integer(0, 3)).map(({ server_id }) => server_id),
    created_at: formatMs(pickTimeMs(world)),
  };
};
