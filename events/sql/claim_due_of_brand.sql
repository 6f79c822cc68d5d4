-- hot: claim_due.sql for one brand's turn in a slow lane, in which brands take turns.
UPDATE events_event
   SET attempts = attempts + 1, due_at = statement_timestamp() + make_interval(secs => %(lease_seconds)s::float)
 WHERE id = ANY (ARRAY(
           SELECT id FROM events_event
            WHERE status = 'pending' AND lane = %(lane)s::text AND lane <> 'points' AND brand_id = %(brand_id)s::bigint
              AND due_at <= statement_timestamp()
            ORDER BY due_at LIMIT %(limit)s::int FOR UPDATE SKIP LOCKED))
RETURNING id, event_id, detail_type AS kind, brand_id, time, detail, attempts, give_up_at, request_id, lane
