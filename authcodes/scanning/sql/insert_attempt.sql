-- hot: each scan that takes no slot. Records it; `scan_count` is the number of scans of the code accepted before.
-- Returns its scan_id. Locks nothing.
{insert_scan}
