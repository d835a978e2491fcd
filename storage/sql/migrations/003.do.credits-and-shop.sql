-- Vote credits, the shop, and the order of the long lists.

-- What votes are worth in hundredths, slab by slab: see engine/rules/credits.ts.
create table vote_credit_tiers (
  id text primary key,
  target_type text not null check (target_type in ('bot', 'server')),
  position integer not null check (position >= 0),
  votes bigint not null check (votes between 1 and 1000000000000),
  cents bigint not null check (cents between 0 and 1000000),
  created_at timestamptz not null default now()
);
create index vote_credit_tiers_order on vote_credit_tiers (target_type, position, id);

-- One row per redeem, for ever; its votes carry its id. `cycle` is the monthly reset in force when it was made,
-- so that slabs begin anew with the month whatever clocks say. A later listing of the same id has none of them.
create table vote_redeems (
  id uuid primary key,
  incarnation bigint not null,
  target_type text not null,
  target_id text not null,
  cycle timestamptz not null,
  votes bigint not null check (votes > 0),
  credits bigint not null check (credits >= 0),
  redeemed_credits bigint not null default 0 check (redeemed_credits between 0 and credits),
  redeemed_at timestamptz,
  created_at timestamptz not null default now()
);
create index vote_redeems_listing on vote_redeems (incarnation, created_at desc, id);

-- The few votes that outlive a reset.
create index votes_immutable on votes (incarnation) where immutable;

-- The shop. Durations are hours, money is hundredths and may be fractional; people are ids that may be unknown.
create table shop_benefits (
  id text primary key,
  name text not null,
  description text not null default '',
  target_types text[] not null default '{}',
  created_by text,
  updated_by text,
  created_at timestamptz not null default now(),
  last_updated timestamptz not null default now()
);

create table shop_items (
  id text primary key,
  name text not null,
  description text not null default '',
  cents numeric(20, 6) not null check (cents >= 0),
  duration_hours integer not null default 0 check (duration_hours >= 0),
  benefits text[] not null default '{}',
  target_types text[] not null default '{}',
  created_by text,
  updated_by text,
  created_at timestamptz not null default now(),
  last_updated timestamptz not null default now()
);

create table shop_coupons (
  id text primary key,
  code text not null unique,
  cents numeric(20, 6) not null check (cents >= 0),
  public boolean not null default false,
  usable boolean not null default true,
  -- From its creation; 0 is for ever.
  expiry_hours integer not null default 0 check (expiry_hours >= 0),
  -- 0 is any number.
  max_uses integer not null default 0 check (max_uses >= 0),
  reuse_wait_hours integer not null default 0 check (reuse_wait_hours >= 0),
  allowed_users text[] not null default '{}',
  applicable_items text[] not null default '{}',
  requirements text[] not null default '{}',
  target_types text[] not null default '{}',
  created_by text,
  updated_by text,
  created_at timestamptz not null default now(),
  last_updated timestamptz not null default now()
);

-- The order of the long lists (storage/catalogue/list-order.ts). A list is cut into segments of some hundred
-- entries; a segment begins at its key and ends before the next one's. `list_changes` holds what came and went
-- since the segments were last counted: rows with keys of their own, so that writers never wait for each other.
create table list_heads (
  list text primary key,
  version bigint not null default 1
);
create table list_segments (
  list text not null,
  low_at timestamptz not null,
  low_id text not null,
  entries bigint not null,
  primary key (list, low_at, low_id)
);
create table list_changes (
  list text not null,
  at timestamptz not null,
  id text not null,
  change smallint not null
);
create index list_changes_list on list_changes (list);
insert into list_heads (list) values ('bots'), ('servers'), ('packs');
insert into list_segments (list, low_at, low_id, entries)
  select list, '-infinity', '', 0 from list_heads;

create function note_bot_change() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' and old.type in ('approved', 'certified') then
    insert into list_changes values ('bots', old.created_at, old.bot_id, -1);
  end if;
  if tg_op <> 'DELETE' and new.type in ('approved', 'certified') then
    insert into list_changes values ('bots', new.created_at, new.bot_id, 1);
  end if;
  return null;
end $$;
create function note_server_change() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' and old.type in ('approved', 'certified') and old.state = 'public' then
    insert into list_changes values ('servers', old.created_at, old.server_id, -1);
  end if;
  if tg_op <> 'DELETE' and new.type in ('approved', 'certified') and new.state = 'public' then
    insert into list_changes values ('servers', new.created_at, new.server_id, 1);
  end if;
  return null;
end $$;
create function note_pack_change() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    insert into list_changes values ('packs', old.created_at, old.url, -1);
  end if;
  if tg_op <> 'DELETE' then
    insert into list_changes values ('packs', new.created_at, new.url, 1);
  end if;
  return null;
end $$;
create trigger bots_change after insert or delete or update of bot_id, created_at, type on bots
  for each row execute function note_bot_change();
create trigger servers_change after insert or delete or update of server_id, created_at, type, state on servers
  for each row execute function note_server_change();
create trigger packs_change after insert or delete or update of url, created_at on packs
  for each row execute function note_pack_change();

insert into list_changes
  select 'bots', created_at, bot_id, 1 from bots where type in ('approved', 'certified');
insert into list_changes
  select 'servers', created_at, server_id, 1 from servers
  where type in ('approved', 'certified') and state = 'public';
insert into list_changes select 'packs', created_at, url, 1 from packs;

-- Both columns in one direction, so that a place in a list is one comparison.
drop index bots_listed;
create index bots_listed on bots (created_at, bot_id) where type in ('approved', 'certified');
drop index servers_listed;
create index servers_listed on servers (created_at, server_id)
  where type in ('approved', 'certified') and state = 'public';
drop index packs_created;
create index packs_created on packs (created_at, url);
