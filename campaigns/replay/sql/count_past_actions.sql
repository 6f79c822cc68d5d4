-- set: each replay, once, for its progress. Counts the events that fetch_past_actions.sql will find, except at the
-- edges of the period. Returns one number. Locks nothing.
SELECT count(*) AS number
  FROM events_event e
 WHERE e.brand_id = %(brand_id)s::bigint AND e.detail_type = ANY (%(kinds)s::text[])
   AND e.finished_at >= %(since)s::timestamptz AND e.finished_at < %(until)s::timestamptz
   AND (e.status = 'done' AND e.outcome ? 'transaction_id'
        OR e.status = 'refused' AND e.outcome ->> 'error' = 'NOT_ELIGIBLE')
