-- set: filters and suggestions of places. Returns at most `most` places of each brand's newest scans, from the days
-- that no rollup has yet. Locks nothing.
SELECT DISTINCT s.location AS name FROM unnest(%(brands)s::bigint[]) AS brand (id), LATERAL (
    SELECT location FROM authcodes_scan
     WHERE brand_id = brand.id AND scanned_at >= %(since)s::timestamptz
     ORDER BY scanned_at DESC, scan_id DESC LIMIT %(most)s::int
) s WHERE s.location > ''
