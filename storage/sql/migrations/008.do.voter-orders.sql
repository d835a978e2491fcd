-- The order of an entity's voters (storage/catalogue/voter-order.ts), for entities with many votes that somebody
-- asked for: one row per voter at the place of his newest valid vote, cut into counted segments like the long
-- lists. Nothing here is the truth: an order can be dropped at any time, and is made again from the votes.

-- From when this row is committed, votes that come or change are noted. `recounts` 0 means not made yet.
create table voter_orders (
  incarnation bigint primary key,
  recounts bigint not null default 0,
  read_at timestamptz not null default now()
);
create table voters (
  incarnation bigint not null,
  author text not null,
  at timestamptz not null,
  itag uuid not null,
  primary key (incarnation, author)
);
create index voters_place on voters (incarnation, at, itag) include (author);
create table voter_segments (
  incarnation bigint not null,
  low_at timestamptz not null,
  low_itag uuid not null,
  entries bigint not null,
  primary key (incarnation, low_at, low_itag)
);

-- Authors whose place may have changed since the last recount; the empty author stands for all of them.
create table voter_changes (
  incarnation bigint not null,
  author text not null,
  noted_at timestamptz not null default clock_timestamp()
);
create index voter_changes_order on voter_changes (incarnation, noted_at);

-- Once per statement, and nothing but one look at an empty or small table where no order is kept.
create function note_voters() returns trigger language plpgsql as $$
begin
  insert into voter_changes (incarnation, author)
    select distinct written.incarnation, written.author
    from written join voter_orders on voter_orders.incarnation = written.incarnation;
  return null;
end $$;
create trigger votes_inserted after insert on votes referencing new table as written
  for each statement execute function note_voters();
create trigger votes_updated after update on votes referencing new table as written
  for each statement execute function note_voters();

create function note_all_voters() returns trigger language plpgsql as $$
begin
  insert into voter_changes (incarnation, author)
    select incarnation, '' from voter_orders
    where new.scope = 'all' or incarnation::text = new.scope;
  return null;
end $$;
create trigger vote_resets_inserted after insert on vote_resets
  for each row execute function note_all_voters();
