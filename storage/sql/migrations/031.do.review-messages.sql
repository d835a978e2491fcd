-- Push messages about reviews, in the outbox of the reminders. Of such a message `incarnation`, which belongs to a reminder, is
-- null and `reviewed` is the listing.

alter table push_messages
  alter column incarnation drop not null,
  add column reviewed bigint references totals (incarnation) on delete cascade,
  add column review_type text,
  add column review_note text,
  add check (num_nonnulls(incarnation, reviewed) = 1);
create index push_messages_reviewed on push_messages (reviewed) where reviewed is not null;
