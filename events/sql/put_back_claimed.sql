-- hot: at the end of a worker's portion. Makes events that were claimed and not begun due again, and uncounts their
-- attempt.
UPDATE events_event e SET due_at = statement_timestamp(), attempts = e.attempts - 1
  FROM unnest(%(ids)s::bigint[], %(attempts)s::int[]) AS held (id, attempts)
 WHERE e.id = held.id AND e.attempts = held.attempts AND e.finished_at IS NULL
