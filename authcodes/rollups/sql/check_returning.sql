-- check: how many customers scanned, and how many on several days, against the scans. Leaves out a brand whose days
-- have closed since: it is being counted again. Returns a Contradiction for each difference. Locks nothing.
WITH closed AS (
{closed_scans}
), customer AS (
    SELECT brand_id, user_id, min(day) < max(day) AS returned FROM closed WHERE user_id IS NOT NULL GROUP BY 1, 2
), wanted AS (
    SELECT brand_id, count(*) AS unique_scanners, count(*) FILTER (WHERE returned) AS returned FROM customer GROUP BY 1
)
SELECT concat('brand ', m.brand_id) AS subject,
       concat(COALESCE(w.unique_scanners, 0), ' scanned, ', COALESCE(w.returned, 0), ' returned') AS expected,
       concat(m.unique_scanners, ' scanned, ', m.returned, ' returned') AS actual
  FROM authcodes_rollupwatermark m LEFT JOIN wanted w USING (brand_id)
 WHERE m.counted_until = m.until
   AND (COALESCE(w.unique_scanners, 0), COALESCE(w.returned, 0))
       IS DISTINCT FROM (m.unique_scanners::bigint, m.returned::bigint)
