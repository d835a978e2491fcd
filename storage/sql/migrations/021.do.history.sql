-- Earlier values of the totals of every listing. A time (`at`) is in minutes since 1970, UTC. A row holds the values at
-- that time, and exists only where one of them differs from the row before. Values above the range are its maximum.

create table history_state (
  one boolean primary key default true check (one),
  -- The newest sample that has begun, and the last listing that it has looked at.
  at integer not null default 0,
  position bigint not null default 0,
  -- The newest sample that has looked at all listings.
  whole_at integer not null default 0,
  -- The newest hour and day that are rolled up, by their ends.
  hour integer not null default 0,
  day integer not null default 0
);
insert into history_state default values;

-- The values of each listing at its last sample, and when one of them last changed.
create table history_heads (
  incarnation bigint primary key,
  servers bigint not null,
  users bigint not null,
  shards bigint not null,
  clicks bigint not null,
  unique_clicks bigint not null,
  invite_clicks bigint not null,
  votes bigint not null,
  votes_logged bigint not null,
  at integer not null,
  -- The first letter of the presence.
  status "char" not null
) with (fillfactor = 80);

-- Partitions are created and dropped by storage/history/partitions.ts.
create table history_fine (
  incarnation bigint not null,
  servers bigint not null,
  users bigint not null,
  shards bigint not null,
  clicks bigint not null,
  unique_clicks bigint not null,
  invite_clicks bigint not null,
  votes bigint not null,
  votes_logged bigint not null,
  at integer not null,
  status "char" not null,
  primary key (incarnation, at)
) partition by range (at);
create table history_hours (like history_fine including all) partition by range (at);
create table history_days (like history_fine including all) partition by range (at);

-- Times that have values: each whole sample, and the end of each hour and day with a whole sample. All others are holes.
create table history_times (
  level text not null check (level in ('fine', 'hours', 'days')),
  at integer not null,
  primary key (level, at)
);

-- Deleted listings whose history is still to be deleted.
create table history_deleted (
  incarnation bigint primary key
);

-- The votes of a listing that were cast in a month (its first day, UTC), whatever became of them later.
create table vote_months (
  incarnation bigint not null,
  month date not null,
  kind text not null,
  upvotes bigint not null,
  downvotes bigint not null,
  voters bigint not null,
  -- Of these votes: redeemed, and voided by an operator.
  redeemed bigint not null,
  voided bigint not null,
  -- Upvotes minus downvotes without those that an operator voided, and the place by it; null until it is known.
  net bigint not null,
  rank bigint,
  primary key (incarnation, month)
);
create index vote_months_order on vote_months (month, kind, net desc, incarnation);

-- Months that are archived. `final` when no late vote can follow.
create table vote_months_archived (
  month date primary key,
  final boolean not null
);
