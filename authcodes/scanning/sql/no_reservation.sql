-- hot: each accrual of a scan. Part of fetch_codes.sql: the scan of an accrual has its slot, so no other scan reserves
-- the code.
SELECT NULL::uuid AS scan_id, NULL::timestamptz AS scanned_at, NULL::bigint AS user_id
