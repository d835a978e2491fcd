-- The lease of a webhook is renewed while its sender lives, so its end no longer names it: a number does. The end is by SQL's
-- clock. A sender that ends without releasing its lease leaves an end that has passed, which counts as a failed attempt.
-- The newest attempt is what owners see in the list.

alter table webhook_endpoints
  add column lease_number bigint not null default 0,
  add column last_attempt jsonb;

-- A further format, and what receivers of the format topgg compare with `Authorization`, sealed; null for the secret.
alter table webhook_endpoints
  drop constraint webhook_endpoints_format_check,
  add check (format in ('standard', 'topgg', 'topgg_v1', 'discord')),
  add column authorization_text bytea;
