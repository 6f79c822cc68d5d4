-- check: the rollup of scans by hour against the scans. Returns a Contradiction for each difference. Locks nothing.
WITH wanted AS (
    SELECT m.brand_id, (s.scanned_at AT TIME ZONE m.time_zone)::date AS day,
           extract(hour FROM s.scanned_at AT TIME ZONE m.time_zone)::int AS hour, count(*) AS scans
      FROM authcodes_rollupwatermark m
      JOIN authcodes_scan s ON s.brand_id = m.brand_id
       AND s.scanned_at < (m.until + 1)::timestamp AT TIME ZONE m.time_zone
     GROUP BY 1, 2, 3
), rolled_up AS (
    SELECT r.brand_id, r.day, r.hour::int, r.scans
      FROM authcodes_hourrollup r JOIN authcodes_rollupwatermark m USING (brand_id) WHERE r.day <= m.until
)
SELECT concat('brand ', brand_id, ', ', day, ' at ', hour) AS subject, COALESCE(w.scans::text, 'none') AS expected,
       COALESCE(r.scans::text, 'none') AS actual
  FROM wanted w FULL JOIN rolled_up r USING (brand_id, day, hour)
 WHERE w.scans IS DISTINCT FROM r.scans
