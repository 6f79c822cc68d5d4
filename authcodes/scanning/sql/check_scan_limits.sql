-- check: each code's count of scans against its batch's limit. Returns a Contradiction for each code that exceeds it.
-- Locks nothing.
SELECT 'code ' || c.code AS subject, 'at most ' || b.scan_limit AS expected,
       (c.scan_count - c.slots_returned)::text AS actual
  FROM authcodes_authcode c JOIN authcodes_batchrange b ON b.id = c.batch_id
 WHERE c.scan_count - c.slots_returned > b.scan_limit
