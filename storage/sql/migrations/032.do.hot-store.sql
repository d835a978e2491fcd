-- Which hot store this database belongs to (storage/hot-owner.ts). No row: it was used by versions before only, or never.

create table hot_store (
  single boolean primary key default true check (single),
  kind text not null check (kind in ('redis', 'lmdb')),
  -- Of an embedded one, also in DATA_DIR/hot-id; '' for Redis.
  identity text not null,
  -- The node that claimed it last, by its name in the table fleet, and when; of this process alone.
  node text not null,
  holder text not null,
  claimed_at timestamptz not null default now()
);
