-- Every accepted vote of a listing gets a number, dense from 1, in the transaction of the flush that writes its row.
-- Rows of earlier versions have none until storage/ledger/vote-log.ts numbers them.

alter table totals add column votes_logged bigint not null default 0;
alter table votes add column log_number bigint;
create index votes_log on votes (incarnation, log_number);
create index votes_unnumbered on votes (incarnation) where log_number is null;
