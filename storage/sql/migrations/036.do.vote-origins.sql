-- Where votes came from, without any address: hashes by a key that only this directory has, another one each month. A flush
-- writes a row with that of the vote, so that no two have the same itag, and a job deletes it after VOTE_ORIGIN_DAYS. A vote
-- without a row was cast while that was 0, imported, or taken by a node of an earlier version.

create table vote_origins (
  itag uuid not null,
  -- When it was cast, as in `votes`.
  at timestamptz not null,
  incarnation bigint not null,
  author text not null,
  -- Of an IPv4 address or an IPv6 /64; of its /24 or /48; of the client program.
  address_hash bigint not null,
  network_hash bigint not null,
  agent_hash integer not null,
  -- Seconds from the author's first login to the vote; null where the node did not know.
  account_age integer,
  -- The sum of what was found later: storage/ledger/vote-flags.ts.
  flags smallint not null default 0
) partition by range (at);
create table vote_origins_default partition of vote_origins default;
create index vote_origins_address on vote_origins (address_hash, at);
create index vote_origins_time on vote_origins using brin (at) with (pages_per_range = 16);

-- How many votes of each hour (UTC) have an origin, and how many of them are of new accounts: what is usual in this directory.
create table vote_counts (
  hour timestamptz primary key,
  votes bigint not null,
  young bigint not null
);

-- What was found, with the figures that say why, one row for each day (UTC), listing and address.
create table vote_suspects (
  -- A flag of votes, or what is found of listings alone: storage/ledger/vote-flags.ts.
  kind smallint not null,
  -- The day, or the hour of what is found of listings alone.
  at timestamptz not null,
  -- 0: of several listings.
  incarnation bigint not null,
  -- 0: of several addresses.
  address_hash bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  figures jsonb not null,
  primary key (kind, at, incarnation, address_hash)
);
create index vote_suspects_time on vote_suspects (last_at);
