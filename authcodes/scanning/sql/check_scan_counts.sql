-- check: each code's count of scans against its number of accepted scans. Returns a Contradiction for each difference.
-- Locks nothing.
SELECT 'code ' || c.code AS subject, coalesce(s.scans, 0)::text AS expected, c.scan_count::text AS actual
  FROM authcodes_authcode c
  LEFT JOIN (SELECT auth_code_id, count(*) AS scans FROM authcodes_scan WHERE outcome = 'success'
              GROUP BY auth_code_id) s ON s.auth_code_id = c.id
 WHERE c.scan_count <> coalesce(s.scans, 0)
