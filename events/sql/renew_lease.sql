-- hot: before each event of a slow lane's portion. Renews its lease; changes nothing if another attempt has taken over.
-- Locks the event.
UPDATE events_event SET due_at = statement_timestamp() + make_interval(secs => %(lease_seconds)s::float)
 WHERE finished_at IS NULL AND id = %(event_id)s::bigint AND attempts = %(event_attempts)s::int
