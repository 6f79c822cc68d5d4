-- hot: each guest's scan that a customer claims. Makes it theirs and publishes its event. However many claim it at once,
-- the condition lets one of them have it, and one event follows. Returns its scan_id, no row where it is claimed already.
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
