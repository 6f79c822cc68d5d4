-- set: as return_leases.sql, for an event that was delivered alone and may have ended the connection. The beginning of
-- its attempt has already counted this as a crash; it waits `pauses` seconds before the next attempt.
UPDATE events_event e
   SET due_at = statement_timestamp() + make_interval(secs => held.pause),
       last_error = 'The connection to the database ended during it.'
  FROM unnest(%(ids)s::bigint[], %(attempts)s::int[], %(pauses)s::float[]) AS held (id, attempts, pause)
 WHERE e.id = held.id AND e.attempts = held.attempts AND e.finished_at IS NULL AND e.status = 'pending'
