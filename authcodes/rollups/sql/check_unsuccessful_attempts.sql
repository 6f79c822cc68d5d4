-- check: the attempts on codes that nobody has scanned, against the scans. Returns a Contradiction for each difference.
-- Locks nothing.
WITH closed AS (
{closed_scans}
), both_sides AS (
    SELECT brand_id, day, auth_code_id, user_id, batch_id, campaign_id, product_id, location, outcome, reason,
           1 AS wanted, 0 AS found
      FROM closed WHERE auth_code_id IS NOT NULL AND NOT may
    UNION ALL
    SELECT v.brand_id, v.day, v.auth_code_id, v.user_id, v.batch_id, v.campaign_id, v.product_id, v.location,
           v.outcome, v.reason, 0, 1
      FROM authcodes_unscannedcodeattempt v
      JOIN authcodes_rollupwatermark m ON m.brand_id = v.brand_id AND v.day <= m.until
      JOIN authcodes_authcode c ON c.id = v.auth_code_id AND c.scan_count = 0
)
SELECT concat('brand ', brand_id, ', ', day, ', code ', auth_code_id) AS subject, sum(wanted)::text AS expected,
       sum(found)::text AS actual
  FROM both_sides
 GROUP BY brand_id, day, auth_code_id, user_id, batch_id, campaign_id, product_id, location, outcome, reason
HAVING sum(wanted) <> sum(found)
