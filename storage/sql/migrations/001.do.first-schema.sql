-- The first schema: people, entities, totals, votes, sessions.
-- Every listing of an entity has an incarnation from one sequence; its totals row is born with the
-- catalogue row and dies with it, and the flusher only updates, so what is deleted stays deleted.

create sequence incarnations as bigint;

-- Settings that must outlive a process and be the same on all nodes (secrets, generation high-water mark).
create table settings (
  name text primary key,
  value text not null
);

create table users (
  id text primary key,
  username text not null,
  display_name text not null,
  avatar text not null default '',
  bot boolean not null default false,
  flags text[] not null default '{}',
  extra_data jsonb not null default '{}',
  status text not null default 'offline',
  banned boolean not null default false,
  vote_banned boolean not null default false,
  created_at timestamptz not null default now()
);

create table totals (
  incarnation bigint primary key,
  kind text not null check (kind in ('bot', 'server', 'team', 'pack')),
  entity_id text not null,
  shard smallint not null,
  generation bigint not null default 0,
  version bigint not null default 0,
  clicks bigint not null default 0,
  unique_clicks bigint not null default 0,
  invite_clicks bigint not null default 0,
  upvotes bigint not null default 0,
  downvotes bigint not null default 0,
  votes bigint generated always as (upvotes - downvotes) stored,
  servers numeric(20, 0) not null default 0,
  shards numeric(20, 0) not null default 0,
  users numeric(20, 0) not null default 0,
  shard_list text not null default '',
  status text not null default '',
  last_stats_post_ms bigint not null default 0,
  uptime bigint not null default 0,
  total_uptime bigint not null default 0,
  uptime_checked_ms bigint not null default 0,
  released_before_ms bigint not null default 0,
  adjustment bigint not null default 0,
  flushed_at timestamptz,
  unique (kind, entity_id)
) with (fillfactor = 70);
create index totals_votes on totals (kind, votes desc, incarnation);
create index totals_clicks on totals (kind, clicks desc, incarnation);

create table vanity (
  itag uuid primary key,
  code text not null unique,
  target_type text not null,
  target_id text not null,
  created_at timestamptz not null default now(),
  unique (target_type, target_id)
);

create table teams (
  id text primary key,
  incarnation bigint not null unique references totals (incarnation),
  revision bigint not null default 1,
  itag uuid not null unique,
  vanity_ref uuid not null references vanity (itag),
  name text not null,
  short text not null default '',
  tags text[] not null default '{}',
  extra_links jsonb not null default '[]',
  nsfw boolean not null default false,
  vote_banned boolean not null default false,
  service text not null default 'api',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index teams_name on teams (lower(name));

create table team_members (
  team_id text not null references teams (id) on delete cascade,
  user_id text not null references users (id),
  itag uuid not null unique,
  permissions text[] not null default '{}',
  data_holder boolean not null default false,
  mentionable boolean not null default false,
  flags text[] not null default '{}',
  service text not null default 'api',
  created_at timestamptz not null default now(),
  primary key (team_id, user_id)
);
create index team_members_user on team_members (user_id);

create table bots (
  bot_id text primary key,
  incarnation bigint not null unique references totals (incarnation),
  revision bigint not null default 1,
  client_id text not null unique,
  itag uuid not null unique,
  vanity_ref uuid not null references vanity (itag),
  type text not null default 'pending' check (type in ('pending', 'approved', 'certified', 'denied')),
  owner_id text references users (id),
  team_id text references teams (id),
  library text not null,
  prefix text not null,
  short text not null,
  long text not null,
  invite text not null,
  tags text[] not null default '{}',
  extra_links jsonb not null default '[]',
  nsfw boolean not null default false,
  captcha_opt_out boolean not null default false,
  vote_banned boolean not null default false,
  start_premium_period timestamptz,
  premium_period_hours integer not null default 0,
  approval_note text not null default '',
  cert_reason text not null default '',
  staff_note text,
  claimed_by text not null default '',
  last_claimed timestamptz,
  last_lookup timestamptz,
  listed_since timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check ((owner_id is null) <> (team_id is null))
);
create index bots_listed on bots (created_at desc, bot_id) where type in ('approved', 'certified');
create index bots_certified on bots (created_at desc, bot_id) where type = 'certified';
create index bots_premium on bots (start_premium_period) where start_premium_period is not null;
create index bots_owner on bots (owner_id) where owner_id is not null;
create index bots_team on bots (team_id) where team_id is not null;

create table servers (
  server_id text primary key,
  incarnation bigint not null unique references totals (incarnation),
  revision bigint not null default 1,
  itag uuid not null unique,
  vanity_ref uuid not null references vanity (itag),
  team_id text not null references teams (id),
  type text not null default 'pending' check (type in ('pending', 'approved', 'certified', 'denied')),
  state text not null default 'public' check (state in ('public', 'private', 'unlisted')),
  name text not null,
  avatar text not null default '',
  short text not null,
  long text not null default '',
  invite text not null default '',
  tags text[] not null default '{}',
  extra_links jsonb not null default '[]',
  nsfw boolean not null default false,
  vote_banned boolean not null default false,
  total_members bigint not null default 0,
  online_members bigint not null default 0,
  start_premium_period timestamptz,
  premium_period_hours integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index servers_listed on servers (created_at desc, server_id)
  where type in ('approved', 'certified') and state = 'public';
create index servers_team on servers (team_id);

create table packs (
  url text primary key,
  incarnation bigint not null unique references totals (incarnation),
  revision bigint not null default 1,
  owner_id text not null references users (id),
  name text not null,
  short text not null,
  tags text[] not null default '{}',
  bot_ids text[] not null default '{}',
  server_ids text[] not null default '{}',
  vote_banned boolean not null default false,
  created_at timestamptz not null default now()
);
create index packs_created on packs (created_at desc, url);
create index packs_owner on packs (owner_id);
create index packs_name on packs (lower(name));

-- What counting depends on, one row per living listing, whatever its kind.
create view facts as
  select incarnation, revision, type in ('approved', 'certified') as listed, vote_banned,
    start_premium_period + make_interval(hours => premium_period_hours) as premium_until, listed_since
  from bots
  union all
  select incarnation, revision, type in ('approved', 'certified') and state = 'public', vote_banned,
    start_premium_period + make_interval(hours => premium_period_hours), null
  from servers
  union all
  select incarnation, revision, true, vote_banned, null, null from teams
  union all
  select incarnation, revision, true, vote_banned, null, null from packs;

-- A token's secret is kept only as its SHA-256.
create table sessions (
  id uuid primary key,
  target_type text not null check (target_type in ('user', 'bot', 'server', 'team')),
  target_id text not null,
  type text not null check (type in ('login', 'api')),
  name text not null,
  perm_limits text[] not null default '{}',
  token_hash bytea not null unique,
  minted_by text not null default '',
  created_at timestamptz not null default now(),
  expiry timestamptz not null
);
create index sessions_target on sessions (target_type, target_id, created_at);
create index sessions_expiry on sessions (expiry);

-- One row per accepted vote, for ever. Voidness has two sources: the row itself, or a reset that applies to it.
create table votes (
  itag uuid not null,
  created_at timestamptz not null,
  incarnation bigint not null,
  target_type text not null,
  target_id text not null,
  author text not null,
  upvote boolean not null,
  vote_num smallint not null,
  immutable boolean not null default false,
  void boolean not null default false,
  void_reason text not null default '',
  voided_at timestamptz,
  credit_redeem uuid,
  primary key (itag, created_at)
) partition by range (created_at);
create table votes_default partition of votes default;
create index votes_target on votes (target_type, target_id, created_at desc);
create index votes_author on votes (author, target_type, target_id, created_at desc);

-- Voids at once every vote in scope that is older and not immutable. Scope is 'all' or an incarnation.
create table vote_resets (
  scope text not null,
  at timestamptz not null,
  reason text not null check (reason in ('monthly_reset', 'deleted', 'operator')),
  created_at timestamptz not null default now(),
  primary key (scope, at)
);

-- What the ledger decided about past votes, to be told to the hot store until it has heard.
create table adjustments (
  id bigint generated always as identity primary key,
  incarnation bigint not null,
  kind text not null,
  entity_id text not null,
  action text not null check (action in ('adjust', 'forget')),
  sequence bigint not null,
  payload jsonb not null default '{}',
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  unique (incarnation, action, sequence)
);
create index adjustments_open on adjustments (id) where settled_at is null;

create table dead_letters (
  id bigint generated always as identity primary key,
  source text not null,
  body jsonb not null,
  reason text not null,
  created_at timestamptz not null default now()
);

create table generations (
  shard smallint primary key,
  generation bigint not null
);

-- Seen-at marks of the fleet, and the times when nobody was there: uptime checks inside do not count.
create table fleet (
  node text primary key,
  seen_at timestamptz not null
);
create table outages (
  from_at timestamptz primary key,
  to_at timestamptz not null
);

-- Progress of operators' imports, so that an interrupted one goes on where it stopped.
create table imports (
  digest text primary key,
  lines_done bigint not null,
  updated_at timestamptz not null default now()
);
