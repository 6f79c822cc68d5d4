-- hot: every two seconds in each process, for the events that it still works on. Skips locked rows: nobody else can
-- claim those either.
UPDATE events_event e
   SET due_at = greatest(e.due_at, statement_timestamp() + make_interval(secs => held.lease_seconds))
  FROM unnest(%(ids)s::bigint[], %(attempts)s::int[], %(lease_seconds)s::float[]) AS held (id, attempts, lease_seconds)
 WHERE e.id = held.id AND e.attempts = held.attempts AND e.finished_at IS NULL
   AND e.id = ANY (ARRAY(SELECT id FROM events_event WHERE id = ANY (%(ids)s::bigint[]) FOR UPDATE SKIP LOCKED))
