-- hot: each scan whose points are decided outside write_accruals.sql. Stores their outcome. Locks the scan.
UPDATE authcodes_scan SET points_status = %(points_status)s::text, points_awarded = %(points_awarded)s::numeric
 WHERE scan_id = %(scan_id)s::uuid
