-- A listing or vote that SQL refuses again and again has one dead letter: the newest content, how often, since when.
-- Rows of versions that know no subject stay as they are, one per refusal.

alter table dead_letters
  add column subject text unique,
  add column refusals bigint not null default 1,
  add column newest_at timestamptz not null default now();
update dead_letters set newest_at = created_at;
