-- check: part of the checks of rollups. The scans of the closed days, from which every rollup is computed again. A code
-- that was first scanned on a closed day `must` be known as scanned; one that was scanned later `may` be.
SELECT m.brand_id, (s.scanned_at AT TIME ZONE m.time_zone)::date AS day, s.batch_id, s.campaign_id,
       s.product_id, s.location, s.user_id, s.outcome, s.reason, s.scan_count, s.points_awarded,
       s.points_status, s.latitude, s.located_at, s.auth_code_id, COALESCE(c.scan_count > 0, false) AS may,
       COALESCE(c.scan_count > 0 AND c.first_scan_at < (m.until + 1)::timestamp AT TIME ZONE m.time_zone, false)
           AS must
  FROM authcodes_rollupwatermark m
  JOIN authcodes_scan s ON s.brand_id = m.brand_id
   AND s.scanned_at < (m.until + 1)::timestamp AT TIME ZONE m.time_zone
  LEFT JOIN authcodes_authcode c ON c.id = s.auth_code_id
