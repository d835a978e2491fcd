-- What creations with an Idempotency-Key led to, for a day: written in their transaction. `scope` is the SHA-256 of the caller,
-- the operation and the key, `fingerprint` that of the request.

create table idempotency_keys (
  scope bytea primary key,
  caller text not null,
  fingerprint bytea not null,
  result jsonb not null,
  created_at timestamptz not null default now()
);

create index idempotency_keys_callers on idempotency_keys (caller, created_at);
create index idempotency_keys_age on idempotency_keys (created_at);
