-- set: Home. Counts the scans in each hour of each weekday (1 is Monday), on the days `first` to `last` of the brands
-- `brands`. Closed days come from their rollup, the days from each brand's `since` on from the scans; an index finds
-- the scans after `moment`, the earliest of all these days. Scans are grouped by quarter of an hour before their time
-- zone is applied: in every zone hours begin on a quarter. Locks nothing.
WITH brand AS MATERIALIZED (
    SELECT b.id, b.zone, b.since, greatest(b.since, %(first)s::date)::timestamp AT TIME ZONE b.zone AS begins,
           (%(last)s::date + 1)::timestamp AT TIME ZONE b.zone AS ends
      FROM unnest(%(brands)s::bigint[], %(zones)s::text[], %(since)s::date[]) AS b (id, zone, since)
), hours AS (
    SELECT r.day, r.hour::int AS hour, r.scans
      FROM brand b JOIN authcodes_hourrollup r ON r.brand_id = b.id
     WHERE r.day BETWEEN %(first)s::date AND %(last)s::date AND r.day < b.since
     UNION ALL
    SELECT (q.quarter AT TIME ZONE b.zone)::date, extract(hour FROM q.quarter AT TIME ZONE b.zone)::int, q.scans
      FROM brand b
     CROSS JOIN LATERAL (
           SELECT date_bin('15 minutes', s.scanned_at, 'epoch') AS quarter, count(*) AS scans FROM authcodes_scan s
            WHERE s.brand_id = b.id AND s.scanned_at >= %(moment)s::timestamptz
              AND s.scanned_at >= b.begins AND s.scanned_at < b.ends
            GROUP BY 1) q
)
SELECT extract(isodow FROM day)::int AS weekday, hour, sum(scans)::bigint AS scans
  FROM hours GROUP BY 1, 2
