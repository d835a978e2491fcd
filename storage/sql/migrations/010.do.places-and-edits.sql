-- How far each shard was flushed, so that a hot store that is older is known at start; and which listings' facts were
-- edited, until the hot store has been told.

alter table generations
  add column flushed_generation bigint not null default 0,
  add column flushed_version bigint not null default 0;

-- Written in the edit's own transaction, by triggers: no edit can forget it. A newer edit takes the older one's place.
create table edited (
  incarnation bigint primary key references totals (incarnation) on delete cascade,
  revision bigint not null,
  at timestamptz not null default now()
);
create index edited_at on edited (at, incarnation);

create function note_edit() returns trigger language plpgsql as $$
begin
  insert into edited (incarnation, revision) values (new.incarnation, new.revision)
  on conflict (incarnation) do update set revision = excluded.revision;
  return null;
end $$;

create trigger bots_edited after update on bots for each row
  when ((old.type, old.vote_banned, old.start_premium_period, old.premium_period_hours, old.listed_since)
    is distinct from (new.type, new.vote_banned, new.start_premium_period, new.premium_period_hours, new.listed_since))
  execute function note_edit();
create trigger servers_edited after update on servers for each row
  when ((old.type, old.state, old.vote_banned, old.start_premium_period, old.premium_period_hours)
    is distinct from (new.type, new.state, new.vote_banned, new.start_premium_period, new.premium_period_hours))
  execute function note_edit();
create trigger teams_edited after update on teams for each row
  when (old.vote_banned is distinct from new.vote_banned) execute function note_edit();
create trigger packs_edited after update on packs for each row
  when (old.vote_banned is distinct from new.vote_banned) execute function note_edit();
