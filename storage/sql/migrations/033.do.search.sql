-- What the public search looks at: a row for each listing that is listed. Triggers write it in the transaction of the
-- edit. Large directories are filled, and get their indexes, later and beside their writers (storage/sql/search-indexes.ts).

create table search_entries (
  incarnation bigint primary key references totals (incarnation) on delete cascade,
  kind text not null,
  -- The name in lower case, by which a search sorts.
  name text not null,
  -- Names, short text and tags in lower case, each word after a blank.
  words text not null,
  tags text[] not null,
  created_at timestamptz not null
);

-- The row of a listing, none where it is not listed.
create function describe_search(wanted bigint) returns setof search_entries language sql stable as $$
  select listed.incarnation, kind, lower(left(name, 100)) collate "C",
    lower(' ' || concat_ws(' ', name, username, short, array_to_string(tags, ' '))), tags, created_at
  from (
    select incarnation, 'bot' as kind, coalesce(users.display_name, bot_id) as name, users.username, short, tags,
      bots.created_at
    from bots left join users on users.id = bot_id
    where incarnation = wanted and type in ('approved', 'certified')
    union all
    select incarnation, 'server', name, null, short, tags, created_at from servers
    where incarnation = wanted and type in ('approved', 'certified') and state = 'public'
    union all
    select incarnation, 'team', name, null, short, tags, created_at from teams where incarnation = wanted
    union all
    select incarnation, 'pack', name, null, short, tags, created_at from packs where incarnation = wanted
  ) as listed
$$;

create function note_search(wanted bigint) returns void language plpgsql as $$
begin
  insert into search_entries select * from describe_search(wanted)
  on conflict (incarnation) do update set name = excluded.name, words = excluded.words, tags = excluded.tags;
  if not found then
    delete from search_entries where incarnation = wanted;
  end if;
end $$;

create function note_search_listing() returns trigger language plpgsql as $$
begin
  perform note_search(new.incarnation);
  return null;
end $$;
create trigger bots_searched after insert or update of type, short, tags, incarnation on bots
  for each row execute function note_search_listing();
create trigger servers_searched after insert or update of type, state, name, short, tags, incarnation on servers
  for each row execute function note_search_listing();
create trigger teams_searched after insert or update of name, short, tags, incarnation on teams
  for each row execute function note_search_listing();
create trigger packs_searched after insert or update of name, short, tags, incarnation on packs
  for each row execute function note_search_listing();

-- A bot has the name of its account, which may come after the bot.
create function note_search_person() returns trigger language plpgsql as $$
begin
  perform note_search(incarnation) from bots where bot_id = new.id;
  return null;
end $$;
create trigger users_added_searched after insert on users for each row when (new.bot)
  execute function note_search_person();
create trigger users_searched after update of username, display_name on users for each row
  when ((old.username, old.display_name) is distinct from (new.username, new.display_name))
  execute function note_search_person();

do $$
begin
  if pg_relation_size('bots') + pg_relation_size('servers') < 32000000 then
    insert into search_entries select described.* from totals, describe_search(totals.incarnation) as described;
    create index search_new on search_entries (kind, created_at desc, incarnation);
    create index search_names on search_entries (kind, name collate "C", incarnation);
  end if;
end $$;

-- Without the extension, or the right to create it, a node starts and its search says that there is none.
do $$
begin
  create extension if not exists pg_trgm;
  if pg_relation_size('bots') + pg_relation_size('servers') < 32000000 then
    create index search_words on search_entries using gin (words gin_trgm_ops, tags);
  end if;
exception when others then
  raise notice 'no search: %', sqlerrm;
end $$;
