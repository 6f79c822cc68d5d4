-- set: the dashboard. Returns Delivery: the delivery state of these brands' events, read from the indexes of pending
-- and dead events. Locks nothing.
SELECT p.pending, p.oldest_at, d.dead
  FROM (SELECT count(*) AS pending, min(created_at) AS oldest_at FROM events_event
         WHERE status = 'pending' AND brand_id = ANY (%(brand_ids)s::bigint[])) p,
       (SELECT count(*) AS dead FROM events_event
         WHERE status = 'dead' AND brand_id = ANY (%(brand_ids)s::bigint[])) d
