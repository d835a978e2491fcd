-- What operators did, and words that nobody may take as a vanity code.

-- Written before the operation and completed after it: `asked` for ever means that nobody could say how it ended.
create table audit (
  id bigint generated always as identity primary key,
  asked_at timestamptz not null default now(),
  operation text not null,
  target text not null default '',
  details jsonb not null default '{}',
  outcome text not null default 'asked',
  ended_at timestamptz
);

create table reserved_words (
  word text primary key,
  created_at timestamptz not null default now()
);
