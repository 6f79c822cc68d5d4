-- hot: each accepted scan. Takes a slot of the code, records the scan and publishes its events. The UPDATE itself
-- checks the limit: a code never gives more slots than it has, however many scans run at once. Returns the code's count
-- of scans with this one, no row if no slot is left. Locks the code.
WITH slot AS (
    UPDATE authcodes_authcode c
       SET scan_count = c.scan_count + 1, first_scan_at = COALESCE(c.first_scan_at, %(at)s::timestamptz),
           first_scan_location = CASE WHEN c.scan_count = 0 THEN %(location)s::text ELSE c.first_scan_location END
      FROM authcodes_batchrange b
     WHERE c.id = %(code_id)s::bigint AND b.id = c.batch_id AND c.deactivated_at IS NULL
       AND (b.scan_limit IS NULL OR c.scan_count - c.slots_returned < b.scan_limit)
       AND (b.recall_id IS NULL OR b.recalled_to > '' AND c.code NOT BETWEEN b.recalled_from AND b.recalled_to)
    RETURNING c.scan_count
), recorded AS (
{insert_scan}
), published AS (
{insert_events}
)
SELECT scan_count FROM slot
