-- hot: each accrual of a customer who has just confirmed their address. Makes their scan one that is about to earn: from
-- here on nobody takes it over. Changes nothing where it was taken over or has earned. Locks the scan.
UPDATE authcodes_scan SET points_status = 'pending'
 WHERE scan_id = %(scan_id)s::uuid AND points_status = 'unconfirmed'
