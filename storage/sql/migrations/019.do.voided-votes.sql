-- What votes became void is an event of webhooks, too.

-- What cannot be built from a vote: set for the kind 2, vote.voided, whose log_number is the highest number of the
-- votes that the decision made void.
alter table webhook_deliveries add column details jsonb;

create or replace view vote_rows as
  select votes.itag, votes.created_at, votes.incarnation, votes.target_type, votes.target_id, votes.author,
    votes.upvote, votes.vote_num, votes.immutable, votes.credit_redeem,
    votes.void or reset.at is not null as void,
    case when votes.void then votes.void_reason else coalesce(reset.reason, '') end as void_reason,
    case when votes.void then votes.voided_at when reset.at = 'infinity' then reset.created_at else reset.at end
      as voided_at,
    votes.log_number
  from votes
  left join lateral (
    select at, reason, created_at from vote_resets
    where scope in ('all', votes.incarnation::text) and at > votes.created_at
      and (not votes.immutable or reason = 'deleted')
    order by at limit 1
  ) as reset on true;
