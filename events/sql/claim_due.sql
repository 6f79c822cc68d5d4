-- hot: each call of a worker. Claims up to `limit` due events of `lane` for `lease_seconds`; after that the events of a
-- worker that died are due again. Returns LeasedEvent. Locks the rows that it claims and skips locked ones.
UPDATE events_event
   SET attempts = attempts + 1, due_at = statement_timestamp() + make_interval(secs => %(lease_seconds)s::float)
 WHERE id = ANY (ARRAY(
           SELECT id FROM events_event
            WHERE status = 'pending' AND lane = %(lane)s::text AND due_at <= statement_timestamp()
            ORDER BY due_at LIMIT %(limit)s::int FOR UPDATE SKIP LOCKED))
RETURNING id, event_id, detail_type AS kind, brand_id, time, detail, attempts, give_up_at, request_id, lane
