-- An SQL that was brought back older than the hot store begins a lineage: what is edited from then on outranks whatever the
-- hot store was told of edits that are lost here. Revisions of rows themselves go on as they are.

create table lineage (
  one boolean primary key default true check (one),
  -- Added to the revision of every row.
  revisions bigint not null
);
insert into lineage (revisions) values (0);

create or replace view facts as
  select incarnation, revision + (select revisions from lineage) as revision,
    type in ('approved', 'certified') as listed, vote_banned,
    start_premium_period + make_interval(hours => premium_period_hours) as premium_until, listed_since
  from bots
  union all
  select incarnation, revision + (select revisions from lineage),
    type in ('approved', 'certified') and state = 'public', vote_banned,
    start_premium_period + make_interval(hours => premium_period_hours), null
  from servers
  union all
  select incarnation, revision + (select revisions from lineage), true, vote_banned, null, null from teams
  union all
  select incarnation, revision + (select revisions from lineage), true, vote_banned, null, null from packs;
