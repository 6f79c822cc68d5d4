-- set: the events that a process held when the database connection ended. Those that waited for their turn, or were
-- delivered with others, are due at once.
UPDATE events_event e SET due_at = statement_timestamp()
  FROM unnest(%(ids)s::bigint[], %(attempts)s::int[]) AS held (id, attempts)
 WHERE e.id = held.id AND e.attempts = held.attempts AND e.finished_at IS NULL AND e.status = 'pending'
