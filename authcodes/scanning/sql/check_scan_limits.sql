-- check: returns Contradiction, none while all is well. Locks nothing. Codes that were scanned more often than their batch
-- allows.
SELECT 'code ' || c.code AS subject, 'at most ' || b.scan_limit AS expected,
       (c.scan_count - c.slots_returned)::text AS actual
  FROM authcodes_authcode c JOIN authcodes_batchrange b ON b.id = c.batch_id
 WHERE c.scan_count - c.slots_returned > b.scan_limit
