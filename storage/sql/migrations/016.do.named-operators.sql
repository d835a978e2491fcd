-- Who made each change; records of versions that did not know it stay without a name.

alter table audit add column operator text not null default '';
