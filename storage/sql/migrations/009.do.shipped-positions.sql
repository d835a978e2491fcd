-- Positions that came with the directory and that no operator has written since: they give way to those of an
-- imported file. Known by their content, for operators may have written them before this column was here.
alter table app_positions add column shipped boolean not null default false;
update app_positions set shipped = true
where md5(concat_ws('|', id, ordinal, name, info, tags::text, questions::text, closed, hidden, cooldown_hours)) in (
  'e96a0b34eb15884b4788b53e483aee7f', 'a02c20fd9e051e2eca7c5975a2bcfead', 'eb184555f0a9029d89886e7129b2e471',
  'dfd9f063710461bc615834bafc3febf3', '62c8f6cf5701c99983d27e0b9fbf4689', '1f439371c90d4496bdbd76abd2b39e71',
  'b3caa166f28298a3b4bb60a310dee9f3');

-- By a trigger, so that nodes that do not know the column yet write it, too.
create function position_is_written() returns trigger language plpgsql as $$
begin
  new.shipped := false;
  return new;
end $$;
create trigger position_written before update on app_positions
  for each row execute function position_is_written();
