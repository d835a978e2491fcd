-- The lease of a webhook is renewed while its sender lives, so its end no longer names it: a number does. The end is by SQL's
-- clock. A sender that ends without releasing its lease leaves an end that has passed, which counts as a failed attempt.
-- The newest attempt is what owners see in the list.

alter table webhook_endpoints
  add column lease_number bigint not null default 0,
  add column last_attempt jsonb;
