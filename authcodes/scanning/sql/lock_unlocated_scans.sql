-- set: each run that names the places of older scans. Returns UnlocatedScan, the oldest first: scans of earlier
-- releases that have only coordinates. Locks these scans; several workers take different ones.
SELECT scan_id, latitude, longitude FROM authcodes_scan
 WHERE latitude IS NOT NULL AND located_at IS NULL
 ORDER BY scanned_at LIMIT %(limit)s::int FOR UPDATE SKIP LOCKED
