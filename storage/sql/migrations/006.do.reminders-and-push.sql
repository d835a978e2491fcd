-- Reminders, browsers that get push messages, messages on their way, and the runs of the fleet's jobs.
-- Times that are compared with votes are the nodes' own, in milliseconds, as everywhere in counting.

-- Goes with its listing. `due_at_ms` is when to look next, null when nothing is awaited: set by the flush that
-- brings a vote, moved to the end of the wait by whoever looks too early. `voted_at_ms` is the newest vote known
-- of here, so that a flush that is repeated asks for nothing twice.
create table reminders (
  incarnation bigint not null references totals (incarnation) on delete cascade,
  user_id text not null references users (id),
  created_at timestamptz not null,
  voted_at_ms bigint not null default 0,
  due_at_ms bigint,
  last_acked timestamptz,
  primary key (incarnation, user_id)
);
create index reminders_user on reminders (user_id, created_at);
create index reminders_due on reminders (due_at_ms) where due_at_ms is not null;

-- One row per browser: an endpoint belongs to the user who subscribed with it last.
create table push_subscriptions (
  id uuid primary key,
  user_id text not null references users (id),
  endpoint text not null unique,
  auth text not null,
  p256dh text not null,
  browser_info jsonb not null,
  created_at timestamptz not null
);
create index push_subscriptions_user on push_subscriptions (user_id, created_at);

-- The outbox of push. Whoever takes a message moves `next_at_ms` ahead first, which is its lease.
create table push_messages (
  id bigint generated always as identity primary key,
  subscription_id uuid not null references push_subscriptions (id) on delete cascade,
  incarnation bigint not null,
  user_id text not null,
  attempts integer not null default 0,
  next_at_ms bigint not null,
  unique (subscription_id, incarnation),
  foreign key (incarnation, user_id) references reminders (incarnation, user_id) on delete cascade
);
create index push_messages_next on push_messages (next_at_ms);
create index push_messages_reminder on push_messages (incarnation, user_id);

-- One row per job and instant it was due. Whoever inserts it runs it; unfinished, it may be taken over when
-- the lease has passed. Leases are by the database's clock.
create table job_runs (
  name text not null,
  due_at timestamptz not null,
  node text not null,
  attempts integer not null default 1,
  started_at timestamptz not null default now(),
  lease_until timestamptz not null,
  finished_at timestamptz,
  error text not null default '',
  primary key (name, due_at)
);
