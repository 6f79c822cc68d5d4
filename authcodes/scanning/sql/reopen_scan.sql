-- hot: each scan whose points are requested again after a limit. Of concurrent requests only one changes the scan, and
-- one event follows. Locks the scan.
UPDATE authcodes_scan SET points_status = 'pending'
 WHERE scan_id = %(scan_id)s::uuid AND points_status IN ('limited', 'not_eligible')
