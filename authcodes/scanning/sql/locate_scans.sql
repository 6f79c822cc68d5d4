-- set: each run that names the places of older scans. Writes the `labels` of the scans `scan_ids`, which must be
-- locked; also on the code if the scan is its first. Locks the codes.
WITH located AS (
    UPDATE authcodes_scan s SET location = f.label, located_at = now()
      FROM unnest(%(scan_ids)s::uuid[], %(labels)s::text[]) AS f (scan_id, label)
     WHERE s.scan_id = f.scan_id
    RETURNING s.auth_code_id, s.location, s.scan_count, s.outcome
)
UPDATE authcodes_authcode c SET first_scan_location = l.location
  FROM located l WHERE c.id = l.auth_code_id AND l.outcome = 'success' AND l.scan_count = 1
