-- Votes that operators make void by a query. A plan holds the votes that the query found; they are voided in pages, and
-- count again in pages if the plan is undone.

create table void_plans (
  id uuid primary key,
  state text not null check (state in ('planning', 'planned', 'refused', 'voiding', 'voided', 'undoing', 'undone')),
  -- The request, as it came, and who sent it.
  query jsonb not null,
  reason text not null,
  operator text not null,
  -- Whether its voters may vote again at once; else they wait as if their votes still counted.
  releases boolean not null,
  -- How many votes it holds.
  votes bigint not null default 0,
  -- What operators are shown before they confirm it.
  preview jsonb not null default '{}',
  -- The last of its votes that the present step has dealt with, and what it left as it was, counted by reason.
  position bigint not null default 0,
  left_out jsonb not null default '{}',
  voided bigint not null default 0,
  restored bigint not null default 0,
  created_at timestamptz not null default now(),
  -- When it was confirmed.
  started_at timestamptz
);

-- Deleted a month after the plan was confirmed: then it cannot be undone any more.
create table void_plan_votes (
  plan uuid not null,
  position bigint not null,
  incarnation bigint not null,
  itag uuid not null,
  created_at timestamptz not null,
  -- Why the newest step left the vote as it was.
  skipped text,
  primary key (plan, position)
);
create index void_plan_votes_skipped on void_plan_votes (plan, position) where skipped is not null;

-- The plan that made the vote void.
alter table votes add column void_plan uuid;

create or replace view vote_rows as
  select votes.itag, votes.created_at, votes.incarnation, votes.target_type, votes.target_id, votes.author,
    votes.upvote, votes.vote_num, votes.immutable, votes.credit_redeem,
    votes.void or reset.at is not null as void,
    case when votes.void then votes.void_reason else coalesce(reset.reason, '') end as void_reason,
    case when votes.void then votes.voided_at when reset.at = 'infinity' then reset.created_at else reset.at end
      as voided_at,
    votes.log_number,
    -- Void, but its voter still has to wait: it was redeemed, or the plan that voided it says so.
    votes.void and (votes.void_reason = 'redeemed' or exists (
      select from void_plans where void_plans.id = votes.void_plan and not void_plans.releases)) as holds
  from votes
  left join lateral (
    select at, reason, created_at from vote_resets
    where scope in ('all', votes.incarnation::text) and at > votes.created_at
      and (not votes.immutable or reason = 'deleted')
    order by at limit 1
  ) as reset on true;
