-- hot: each scan whose points are decided outside of write_accruals.sql. Writes what became of them. Locks the scan.
UPDATE authcodes_scan SET points_status = %(points_status)s::text, points_awarded = %(points_awarded)s::numeric
 WHERE scan_id = %(scan_id)s::uuid
