-- hot: every two seconds in each process, for what it still works on. Whatever is being written just now is nobody's to
-- take either, and is skipped.
UPDATE events_event e
   SET due_at = greatest(e.due_at, statement_timestamp() + make_interval(secs => held.lease_seconds))
  FROM unnest(%(ids)s::bigint[], %(attempts)s::int[], %(lease_seconds)s::float[]) AS held (id, attempts, lease_seconds)
 WHERE e.id = held.id AND e.attempts = held.attempts AND e.finished_at IS NULL
   AND e.id = ANY (ARRAY(SELECT id FROM events_event WHERE id = ANY (%(ids)s::bigint[]) FOR UPDATE SKIP LOCKED))
