-- check: each code's returned slots against its number of lapsed scans. Returns a Contradiction for each difference.
-- Locks nothing.
SELECT 'code ' || c.code AS subject, coalesce(s.scans, 0)::text AS expected, c.slots_returned::text AS actual
  FROM authcodes_authcode c
  LEFT JOIN (SELECT auth_code_id, count(*) AS scans FROM authcodes_scan
              WHERE outcome = 'success' AND points_status = 'lapsed' GROUP BY auth_code_id) s
    ON s.auth_code_id = c.id
 WHERE c.slots_returned <> coalesce(s.scans, 0)
