-- Operators list the votes of a time, whatever listing they are for. Votes come almost in the order of their
-- time, so a summary of each block range is enough; a vote costs nothing more.
create index votes_time on votes using brin (created_at) with (pages_per_range = 16);
