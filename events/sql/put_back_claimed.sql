-- hot: at the end of a worker's portion. Events that were claimed and not begun are due again; the attempt was none.
UPDATE events_event e SET due_at = statement_timestamp(), attempts = e.attempts - 1
  FROM unnest(%(ids)s::bigint[], %(attempts)s::int[]) AS held (id, attempts)
 WHERE e.id = held.id AND e.attempts = held.attempts AND e.finished_at IS NULL
