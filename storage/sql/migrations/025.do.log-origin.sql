-- Cursors of vote logs name the directory that gave them: an export that is imported elsewhere gets other numbers there. A
-- directory that was used before this file keeps the cursors that its clients have.

alter table lineage add column origin text not null default '';
update lineage set origin = substr(md5(random()::text || clock_timestamp()::text), 1, 8)
where not exists (select from totals) and not exists (select from generations);
