-- hot: claim_due.sql without the brands `brand_ids`, while these have most of the due events. Reads past their waiting
-- events.
UPDATE events_event
   SET attempts = attempts + 1, due_at = statement_timestamp() + make_interval(secs => %(lease_seconds)s::float)
 WHERE id = ANY (ARRAY(
           SELECT id FROM events_event
            WHERE status = 'pending' AND lane = %(lane)s::text AND brand_id <> ALL (%(brand_ids)s::bigint[])
              AND due_at <= statement_timestamp()
            ORDER BY due_at LIMIT %(limit)s::int FOR UPDATE SKIP LOCKED))
RETURNING id, event_id, detail_type AS kind, brand_id, time, detail, attempts, give_up_at, request_id, lane
