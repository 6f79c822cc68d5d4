-- set: the programme page. The points of each month and movement up to the day `last`: closed days up to `until` from
-- their rollup, the later days from `first` to `last` from the ledger. Returns MonthPoints. Locks nothing.
SELECT date_trunc('month', day::timestamp)::date AS month, movement, sum(points) AS points, sum(entries)::bigint AS entries
  FROM (SELECT r.day, r.movement, r.points, r.entries FROM loyalty_pointsrollup r
         WHERE r.brand_id = %(brand)s::bigint AND r.day <= %(until)s::date
         UNION ALL
        SELECT day, movement, points, entries FROM (
{ledger_days}
        ) open) d
 GROUP BY 1, 2 ORDER BY 1, 2
