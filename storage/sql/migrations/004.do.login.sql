-- Codes and states of logins that have been used: each is good for one login, whichever nodes it is shown to.
-- Only SHA-256 sums are kept. Rows older than any code or state could be are purged by a job.

create table login_uses (
  kind text not null check (kind in ('code', 'state')),
  hash bytea not null,
  used_at timestamptz not null default now(),
  primary key (kind, hash)
);
create index login_uses_age on login_uses (used_at);
