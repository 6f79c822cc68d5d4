-- hot: each scan that takes no slot. Records it; `scan_count` is how many scans of the code were accepted before. Returns
-- its scan_id. Locks nothing.
{insert_scan}
