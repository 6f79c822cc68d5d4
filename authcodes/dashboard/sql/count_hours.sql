-- set: Home. How many scans there were in each hour of each weekday (1 is Monday), on the days from `first` to `last` of the
-- brands `brands`: closed days from their rollup, the days from each brand's `since` on from the scans, of which an index finds
-- those after `moment`, the earliest of all these days. Locks nothing.
WITH brand AS MATERIALIZED (
    SELECT b.id, b.zone, b.since
      FROM unnest(%(brands)s::bigint[], %(zones)s::text[], %(since)s::date[]) AS b (id, zone, since)
), hours AS (
    SELECT r.day, r.hour::int AS hour, r.scans
      FROM brand b JOIN authcodes_hourrollup r ON r.brand_id = b.id
     WHERE r.day BETWEEN %(first)s::date AND %(last)s::date AND r.day < b.since
     UNION ALL
    SELECT s.at::date, extract(hour FROM s.at)::int, 1
      FROM brand b
     CROSS JOIN LATERAL (
           SELECT s.scanned_at AT TIME ZONE b.zone AS at FROM authcodes_scan s
            WHERE s.brand_id = b.id AND s.scanned_at >= %(moment)s::timestamptz
              AND s.scanned_at >= greatest(b.since, %(first)s::date)::timestamp AT TIME ZONE b.zone
              AND s.scanned_at < (%(last)s::date + 1)::timestamp AT TIME ZONE b.zone) s
)
SELECT extract(isodow FROM day)::int AS weekday, hour, sum(scans)::bigint AS scans
  FROM hours GROUP BY 1, 2
