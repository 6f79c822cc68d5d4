-- hot: each scan whose place is reported soon after it. Stores the place, also on the code if the scan is its first. A
-- known place is never changed. Locks the scan and the code.
WITH placed AS (
    UPDATE authcodes_scan
       SET latitude = %(latitude)s::float, longitude = %(longitude)s::float, location = %(location)s::text,
           located_at = now()
     WHERE scan_id = %(scan_id)s::uuid AND latitude IS NULL AND location = ''
    RETURNING auth_code_id, location, outcome, scan_count
)
UPDATE authcodes_authcode c SET first_scan_location = p.location
  FROM placed p WHERE c.id = p.auth_code_id AND p.outcome = 'success' AND p.scan_count = 1
