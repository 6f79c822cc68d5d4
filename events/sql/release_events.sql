-- hot: each customer who does what their events wait for, such as confirming an address. Makes the events that wait for
-- the customer `user_id` due now, at all brands. Returns their lanes. Locks the events.
UPDATE events_event SET on_hold_for = NULL, due_at = statement_timestamp()
 WHERE on_hold_for = %(user_id)s::bigint AND status = 'pending'
RETURNING lane
