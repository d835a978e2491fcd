-- Webhooks: endpoints, and one delivery per event and endpoint. Times in milliseconds are the nodes' own.

-- How many enabled endpoints a listing has. A flush locks the row of the listing anyway, so it learns from it,
-- exactly, whether there is anything to write.
alter table totals add column webhooks smallint not null default 0;

create table webhook_endpoints (
  id uuid primary key,
  incarnation bigint not null references totals (incarnation) on delete cascade,
  name text not null,
  url text not null,
  format text not null check (format in ('standard', 'topgg', 'discord')),
  events text[] not null,
  up_only boolean not null default false,
  -- Sealed, see storage/catalogue/webhooks/secrets.ts. The former one signs, too, until `former_until_ms`.
  secret bytea not null,
  secret_hint text not null,
  former_secret bytea,
  former_until_ms bigint not null default 0,
  enabled boolean not null default true,
  disabled_reason text not null default '',
  -- Grows with each edit, so that a sender never writes health over a newer decision of the owner.
  revision integer not null default 1,
  -- Deliveries in state 0.
  pending bigint not null default 0,
  -- Attempts in a row without a success, and since when.
  failures integer not null default 0,
  failing_since_ms bigint not null default 0,
  wait_until_ms bigint not null default 0,
  -- After a success that ended a failure, deliveries are sent slowly until then.
  slow_until_ms bigint not null default 0,
  -- When a sender should look next, null for never. `signal` grows whenever there is new work, so that a sender
  -- that found none cannot overwrite a newer due time.
  due_at_ms bigint,
  signal bigint not null default 0,
  lease_until_ms bigint not null default 0,
  last_delivered_at timestamptz,
  created_at timestamptz not null default now(),
  created_by text not null
);
create index webhook_endpoints_listing on webhook_endpoints (incarnation);
create index webhook_endpoints_due on webhook_endpoints (due_at_ms) where due_at_ms is not null;
create index webhook_endpoints_backlog on webhook_endpoints (pending) where pending > 0;

-- States: 0 pending, 1 delivered, 2 expired. What is sent is built from the vote and not stored; only after a failed
-- attempt `body` keeps it, so that every repeat sends the same bytes. Rows of a deleted endpoint are purged in steps.
create table webhook_deliveries (
  endpoint_id uuid not null,
  -- The number of the event's first vote.
  log_number bigint not null,
  -- 1 vote.created
  kind smallint not null,
  state smallint not null default 0,
  -- Votes of the request.
  weight smallint not null,
  -- The listing's total when the flush wrote this row.
  votes bigint not null,
  tries smallint not null default 0,
  next_at_ms bigint not null default 0,
  -- To be sent once more, whatever its state is.
  replay boolean not null default false,
  body text,
  attempts jsonb not null default '[]',
  created_at timestamptz not null default now(),
  primary key (endpoint_id, log_number, kind)
);
create index webhook_deliveries_pending on webhook_deliveries (endpoint_id, log_number) where state = 0;
create index webhook_deliveries_replay on webhook_deliveries (endpoint_id, log_number) where replay;
create index webhook_deliveries_age on webhook_deliveries using brin (created_at);
