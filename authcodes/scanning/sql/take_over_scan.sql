-- hot: each scan of a code that is used up by the scan of a guest or an unconfirmed customer. As accept_scan.sql, but
-- the scan `reservation_id` gives its slot to this one and lapses. It is locked while nobody has claimed it, so it is
-- either claimed or taken over. Returns the code's count of scans with this one, no row if no slot is left. Locks the
-- other scan, then the code.
WITH slot AS (
    UPDATE authcodes_authcode c
       SET slots_returned = c.slots_returned + 1, scan_count = c.scan_count + 1,
           first_scan_at = COALESCE(c.first_scan_at, %(at)s::timestamptz),
           first_scan_location = CASE WHEN c.scan_count = 0 THEN %(location)s::text ELSE c.first_scan_location END
      FROM authcodes_batchrange b,
           (SELECT s.scan_id FROM authcodes_scan s
             WHERE s.scan_id = %(reservation_id)s::uuid AND s.points_status IN ('guest', 'unconfirmed')
               FOR UPDATE) AS reservation
     WHERE c.id = %(code_id)s::bigint AND b.id = c.batch_id AND c.deactivated_at IS NULL
       AND (b.scan_limit IS NULL OR c.scan_count - c.slots_returned <= b.scan_limit)
       AND (b.recall_id IS NULL OR b.recalled_to > '' AND c.code NOT BETWEEN b.recalled_from AND b.recalled_to)
    RETURNING c.scan_count
), lapsed AS (
    UPDATE authcodes_scan s SET points_status = 'lapsed' FROM slot WHERE s.scan_id = %(reservation_id)s::uuid
), recorded AS (
{insert_scan}
), published AS (
{insert_events}
)
SELECT scan_count FROM slot
