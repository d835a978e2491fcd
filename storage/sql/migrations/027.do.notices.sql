-- Which cached profiles and sessions have changed. Triggers write a notice in the transaction of the change, so no edit, import
-- or node of an earlier version can forget it, and no process can die between the two. Every node reads the notices that its
-- last reading could not see, by the snapshot of that reading: numbers would not do, because they commit out of order.

create table notices (
  xid xid8 not null default pg_current_xact_id(),
  -- A bot, server or team by its id; a session by the hash of its token, in hexadecimal.
  kind text not null check (kind in ('bot', 'server', 'team', 'session')),
  id text not null,
  at timestamptz not null default now(),
  primary key (xid, kind, id)
);
create index notices_at on notices (at);

create function notice_bot() returns trigger language plpgsql as $$
begin
  insert into notices (kind, id) values ('bot', old.bot_id) on conflict do nothing;
  -- A ban of its owner bans a bot's sessions.
  if tg_op = 'UPDATE' then
    if old.owner_id is not distinct from new.owner_id then return null; end if;
  end if;
  insert into notices (kind, id)
    select 'session', encode(token_hash, 'hex') from sessions
    where target_type = 'bot' and target_id = old.bot_id
    on conflict do nothing;
  return null;
end $$;
create trigger bots_noticed after update or delete on bots for each row execute function notice_bot();

create function notice_server() returns trigger language plpgsql as $$
begin
  insert into notices (kind, id) values ('server', old.server_id) on conflict do nothing;
  return null;
end $$;
create trigger servers_noticed after update or delete on servers for each row execute function notice_server();

create function notice_team() returns trigger language plpgsql as $$
begin
  insert into notices (kind, id) values ('team', old.id) on conflict do nothing;
  return null;
end $$;
create trigger teams_noticed after update or delete on teams for each row execute function notice_team();

create function notice_vanity() returns trigger language plpgsql as $$
begin
  insert into notices (kind, id) select old.target_type, old.target_id
    where old.target_type in ('bot', 'server', 'team') on conflict do nothing;
  return null;
end $$;
create trigger vanity_noticed after update or delete on vanity for each row execute function notice_vanity();

create function notice_session() returns trigger language plpgsql as $$
begin
  insert into notices (kind, id) values ('session', encode(old.token_hash, 'hex')) on conflict do nothing;
  return null;
end $$;
-- No node uses an expired session, and thousands of them are deleted at once.
create trigger sessions_noticed after update or delete on sessions for each row
  when (old.expiry > now()) execute function notice_session();

-- Profiles contain the person that a bot is and its owner.
create function notice_people() returns trigger language plpgsql as $$
begin
  insert into notices (kind, id)
    select 'bot', bot_id from bots join written on written.id = bots.bot_id
    on conflict do nothing;
  return null;
end $$;
create trigger users_added_noticed after insert on users referencing new table as written
  for each statement execute function notice_people();

create function notice_person() returns trigger language plpgsql as $$
begin
  insert into notices (kind, id)
    select 'bot', bot_id from bots where bot_id = new.id or owner_id = new.id
    on conflict do nothing;
  if (old.banned, old.vote_banned) is distinct from (new.banned, new.vote_banned) then
    insert into notices (kind, id)
      select 'session', encode(token_hash, 'hex') from sessions
      where (target_type = 'user' and target_id = new.id) or minted_by = new.id
        or (target_type = 'bot' and target_id in (select bot_id from bots where owner_id = new.id))
      on conflict do nothing;
  end if;
  return null;
end $$;
create trigger users_noticed after update on users for each row
  when (old.* is distinct from new.*) execute function notice_person();
