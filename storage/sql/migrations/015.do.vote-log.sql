-- Every accepted vote of a listing gets a number, dense from 1, in the transaction of the flush that writes its row.
-- Rows of earlier versions have none until storage/ledger/vote-log.ts numbers them.

alter table totals add column votes_logged bigint not null default 0;
alter table votes add column log_number bigint;
create index votes_log on votes (incarnation, log_number);
create index votes_unnumbered on votes (incarnation) where log_number is null;

-- As vote_rows, with the number.
create view vote_log as
  select votes.incarnation, votes.log_number, votes.itag, votes.author, votes.upvote, votes.created_at,
    votes.void or reset.at is not null as void,
    case when votes.void then votes.void_reason else coalesce(reset.reason, '') end as void_reason
  from votes
  left join lateral (
    select at, reason from vote_resets
    where scope in ('all', votes.incarnation::text) and at > votes.created_at
      and (not votes.immutable or reason = 'deleted')
    order by at limit 1
  ) as reset on true;
