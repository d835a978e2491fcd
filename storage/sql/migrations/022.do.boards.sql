-- Leaderboards: what they remember of each listing, and their newest editions. All of it can be computed anew from
-- counts and votes, within the limits that docs/behaviour.md states; exports leave it out.

create table board_listings (
  incarnation bigint primary key references totals (incarnation) on delete cascade,
  -- The counts when the last run looked at them.
  unique_clicks bigint not null,
  upvotes bigint not null,
  downvotes bigint not null,
  votes_logged bigint not null,
  -- Binary logarithm of the sum of weight × 2^(time of the event ÷ 12 h), null before the first event. The order of
  -- listings without new events never changes, so only the others are written.
  heat double precision,
  -- Values at the first look of a UTC day: of `days_at` (days since 1970), of the day before it, and so on, at most
  -- eight. A day without a change is not written: its value is the newest one.
  days_at integer not null,
  clicks_days bigint[] not null,
  servers_days double precision[] not null,
  -- Valid votes cast before the monthly reset `past_until`: all but immutable ones, those of the last period, and those
  -- of the last calendar month with the immutable ones.
  votes_before bigint not null default 0,
  votes_period bigint not null default 0,
  votes_month bigint not null default 0,
  past_until timestamptz not null default '-infinity'
) with (fillfactor = 70);

-- The first places of each board. `edition` is the due time of its run, in ms; readers load what has another one.
create table board_editions (
  board text not null,
  kind text not null,
  edition bigint not null,
  made_at timestamptz not null default now(),
  incarnations bigint[] not null,
  scores double precision[] not null,
  ratios double precision[] not null,
  -- The last edition of the UTC day before `day`, for the change of a place.
  day integer not null,
  former bigint[] not null default '{}',
  primary key (board, kind)
);

-- How many listings each board has, and how many of them are above some scores: about 1,000 in descending order.
create table board_counts (
  board text not null,
  kind text not null,
  edition bigint not null,
  listings bigint not null,
  scores double precision[] not null,
  above bigint[] not null,
  primary key (board, kind)
);

-- Which listings are listed, without reading their wide rows. Large tables get their indexes later, beside their
-- writers (storage/sql/search-indexes.ts).
do $$
begin
  if pg_relation_size('bots') < 32000000 then
    create index bots_ranked on bots (incarnation) include (listed_since, created_at)
      where type in ('approved', 'certified');
  end if;
  if pg_relation_size('servers') < 32000000 then
    create index servers_ranked on servers (incarnation) include (created_at)
      where type in ('approved', 'certified') and state = 'public';
  end if;
end $$;
