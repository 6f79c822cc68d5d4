-- hot: before each event of a slow lane's portion. Its lease begins anew; nothing changes where another attempt has taken
-- over. Locks the event.
UPDATE events_event SET due_at = statement_timestamp() + make_interval(secs => %(lease_seconds)s::float)
 WHERE finished_at IS NULL AND id = %(event_id)s::bigint AND attempts = %(event_attempts)s::int
