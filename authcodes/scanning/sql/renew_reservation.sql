-- hot: each accrual of a customer who has just confirmed their address. Sets their scan to pending, so that no other
-- scan can take it over. Changes nothing if it was taken over or has earned. Locks the scan.
UPDATE authcodes_scan SET points_status = 'pending'
 WHERE scan_id = %(scan_id)s::uuid AND points_status = 'unconfirmed'
