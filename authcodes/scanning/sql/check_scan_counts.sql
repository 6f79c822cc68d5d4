-- check: returns Contradiction, none while all is well. Locks nothing. Codes whose count of scans is not their number of
-- accepted scans.
SELECT 'code ' || c.code AS subject, coalesce(s.scans, 0)::text AS expected, c.scan_count::text AS actual
  FROM authcodes_authcode c
  LEFT JOIN (SELECT auth_code_id, count(*) AS scans FROM authcodes_scan WHERE outcome = 'success'
              GROUP BY auth_code_id) s ON s.auth_code_id = c.id
 WHERE c.scan_count <> coalesce(s.scans, 0)
