-- hot: each guest scan that a customer claims. Assigns it to the customer and publishes its event. Of concurrent claims
-- the condition lets only one succeed, and one event follows. Returns its scan_id, no row if it is already claimed.
-- Locks the scan.
WITH adopted AS (
    UPDATE authcodes_scan
       SET user_id = %(user_id)s::bigint, points_status = %(points_status)s::text,
           unconfirmed = %(unconfirmed)s::boolean, points_promised = %(points_promised)s::numeric
     WHERE scan_id = %(scan_id)s::uuid AND user_id IS NULL AND points_status = 'guest'
    RETURNING scan_id
), published AS (
{insert_events}
)
SELECT scan_id FROM adopted
