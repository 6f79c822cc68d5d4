-- hot: each accrual of a scan. Part of write_accruals.sql: stores the outcome of the points of the scans whose accruals
-- it writes. `beside` is a JSON array with a row for each item.
UPDATE authcodes_scan s SET points_status = b.points_status, points_awarded = b.points_awarded
  FROM locked
  JOIN jsonb_to_recordset(%(beside)s::jsonb)
       AS b (item int, scan_id uuid, points_status text, points_awarded numeric) USING (item)
 WHERE s.scan_id = b.scan_id
