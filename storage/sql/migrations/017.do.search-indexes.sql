-- Names by their first letters, for the operator's searches. A large table gets its index later, beside its writers
-- (storage/sql/search-indexes.ts), because building it here would block them for seconds.

do $$
begin
  if pg_relation_size('users') < 32000000 then
    create index users_search on users ((lower(username) collate "C"), id);
  end if;
  if pg_relation_size('servers') < 32000000 then
    create index servers_search on servers ((lower(name) collate "C"), server_id);
  end if;
  if pg_relation_size('teams') < 32000000 then
    create index teams_search on teams ((lower(name) collate "C"), id);
  end if;
  if pg_relation_size('packs') < 32000000 then
    create index packs_search on packs ((lower(name) collate "C"), url);
  end if;
end $$;
