-- The number of shards: into how many parts the entities are divided, in the hot store and in `generations`. A directory
-- that was used before this file keeps 128, a new one gets 16; it never changes.

create table store_shards (
  one boolean primary key default true check (one),
  number smallint not null check (number in (16, 128))
);

-- Programs from before know 128 shards only. In a directory of 16 the record of this file gets the name of a contract, so
-- that they do not start (storage/sql/migrate.ts), and one that is starting at this moment cannot issue a generation.
create function name_fewer_shards() returns trigger language plpgsql as $$
begin
  new.name := 'contract-16-shards';
  return new;
end $$;

do $$
declare
  used boolean := exists (select from generations) or exists (select from totals);
begin
  if not used then
    lock table generations, totals in exclusive mode;
    used := exists (select from generations) or exists (select from totals);
  end if;
  insert into store_shards (number) values (case when used then 128 else 16 end);
  if not used then
    alter table generations add constraint this_directory_has_16_shards check (shard < 16);
    create trigger fewer_shards before insert on schema_versions for each row
      when (new.version = 24) execute function name_fewer_shards();
  end if;
end $$;
