-- check: the unique scanners of each day against its scans. Returns a Contradiction for each difference. Locks nothing.
WITH closed AS (
{closed_scans}
), wanted AS (
    SELECT brand_id, day, user_id, batch_id, campaign_id, location, bool_or(must) AS must, bool_or(may) AS may
      FROM closed WHERE user_id IS NOT NULL GROUP BY 1, 2, 3, 4, 5, 6
), both_sides AS (
    SELECT brand_id, day, user_id, batch_id, campaign_id, location, must, may, NULL::boolean AS scanned,
           1 AS wanted, 0 AS found
      FROM wanted
    UNION ALL
    SELECT r.brand_id, r.day, r.user_id, r.batch_id, r.campaign_id, r.location, NULL, NULL, r.scanned, 0, 1
      FROM authcodes_uniquescannerrollup r JOIN authcodes_rollupwatermark m USING (brand_id)
     WHERE r.day <= m.until
)
SELECT concat('brand ', brand_id, ', ', day, ', user ', user_id, ' in batch ', batch_id) AS subject,
       sum(wanted)::text AS expected, sum(found)::text AS actual
  FROM both_sides
 GROUP BY brand_id, day, user_id, batch_id, campaign_id, location
HAVING sum(wanted) <> 1 OR sum(found) <> 1
    OR bool_or(must) AND NOT bool_or(scanned) OR bool_or(scanned) AND NOT bool_or(may)
