-- Webhooks of a team for all that it owns, and events that are not votes.

-- `sequenced`: its deliveries take their place in the queue from the sequence, because they are about several listings or not
-- about votes; log_number of others is the number of the vote. It never becomes false again.
alter table webhook_endpoints
  add column scope text not null default 'listing' check (scope in ('listing', 'owned')),
  add column sequenced boolean not null default false;
create index webhook_endpoints_owned on webhook_endpoints (incarnation) where scope = 'owned' and enabled;

-- Above all numbers of votes, so that places of an endpoint that becomes sequenced go on upwards.
create sequence webhook_places as bigint start 10000000000000;

-- Of a sequenced delivery: the listing that it is about, and the number of the vote; null for an event without a vote.
alter table webhook_deliveries
  add column subject bigint,
  add column subject_number bigint;
create unique index webhook_deliveries_subject on webhook_deliveries (endpoint_id, subject, subject_number, kind)
  where subject is not null;

-- The enabled endpoints that hear of a listing: its own, and those of its team for all that it owns.
create function webhook_listeners(listing bigint) returns setof webhook_endpoints language sql stable as $$
  select * from webhook_endpoints where incarnation = listing and enabled
  union all
  select owned.* from (
    select team_id from bots where bots.incarnation = listing
    union all select team_id from servers where servers.incarnation = listing
  ) as owner
  join totals as team on team.kind = 'team' and team.entity_id = owner.team_id
  join webhook_endpoints as owned on owned.incarnation = team.incarnation and scope = 'owned' and enabled
$$;

-- Writes a delivery per listener that wants an event which is not about numbered votes; returns how many. The kind is that of
-- storage/ledger/webhook-deliveries.ts. Endpoints are locked in the order of their ids, as by a flush.
create function write_listing_event(listing bigint, event_kind smallint, event text, told jsonb) returns bigint language sql as $$
  with delivery as (
    insert into webhook_deliveries (endpoint_id, log_number, subject, kind, weight, votes, details)
    select endpoint.id, nextval('webhook_places'), listing, event_kind, 1, totals.votes,
      jsonb_build_object('id', gen_random_uuid()) || told
    from totals join lateral webhook_listeners(totals.incarnation) as endpoint on true
    where totals.incarnation = listing and event = any (endpoint.events) and endpoint.sequenced
    returning endpoint_id
  ), locked as (
    select id from webhook_endpoints where id in (select endpoint_id from delivery) order by id for no key update
  ), signalled as (
    update webhook_endpoints as endpoint
    set pending = pending + 1, signal = signal + 1, due_at_ms = least(due_at_ms, wait_until_ms)
    from locked where endpoint.id = locked.id
    returning 1
  )
  select count(*) from signalled
$$;

-- An edit of a profile is an event, whoever makes it, in the transaction of the edit.
create function announce_edit() returns trigger language plpgsql as $$
declare
  fields jsonb;
begin
  select jsonb_agg(key order by key) into fields
  from jsonb_each(to_jsonb(new)) where value is distinct from to_jsonb(old) -> key
    and key in ('name', 'avatar', 'short', 'long', 'invite', 'library', 'prefix', 'tags', 'extra_links', 'nsfw', 'type', 'state',
      'team_id', 'owner_id', 'captcha_opt_out');
  if fields is not null then
    perform write_listing_event(new.incarnation, 4::smallint, 'listing.updated', jsonb_build_object('fields', fields));
  end if;
  return null;
end $$;
create trigger bots_announced after update on bots for each row
  when (old.* is distinct from new.*) execute function announce_edit();
create trigger servers_announced after update on servers for each row
  when (old.* is distinct from new.*) execute function announce_edit();
create trigger teams_announced after update on teams for each row
  when (old.* is distinct from new.*) execute function announce_edit();
