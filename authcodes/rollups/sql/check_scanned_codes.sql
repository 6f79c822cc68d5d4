-- check: each batch's number of scanned codes against its number of first scans. Returns a Contradiction for each
-- difference. Locks nothing.
SELECT 'batch ' || b.id AS subject, COALESCE(c.scanned, 0)::text AS expected, COALESCE(s.scanned, 0)::text AS actual
  FROM authcodes_batchrange b
  LEFT JOIN (SELECT batch_id, count(*) AS scanned FROM authcodes_authcode WHERE scan_count > 0
              GROUP BY batch_id) c ON c.batch_id = b.id
  LEFT JOIN (SELECT batch_id, count(*) AS scanned FROM authcodes_scan
              WHERE outcome = 'success' AND scan_count = 1 GROUP BY batch_id) s ON s.batch_id = b.id
 WHERE COALESCE(c.scanned, 0) <> COALESCE(s.scanned, 0)
