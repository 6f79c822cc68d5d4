-- hot: each later attempt. Counts a crash before the attempt begins; any end except the process's death subtracts it
-- again. No row: another attempt has taken over. Locks the event.
UPDATE events_event SET crashes = crashes + 1
 WHERE finished_at IS NULL AND id = %(event_id)s::bigint AND attempts = %(event_attempts)s::int
RETURNING crashes
