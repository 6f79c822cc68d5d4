-- set: the days of a brand that have closed since the last run, and stale ones, whose old rows are deleted. Writes the
-- points of each day and movement. Locks no existing rows.
INSERT INTO loyalty_pointsrollup (brand_id, day, movement, points, entries)
SELECT %(brand)s::bigint, day, movement, points, entries FROM (
{ledger_days}
) s
