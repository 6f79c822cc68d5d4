-- set: the dashboard. Returns Delivery: how the events of these brands fare, read from the indexes of what is pending or
-- dead. Locks nothing.
SELECT p.pending, p.oldest_at, d.dead
  FROM (SELECT count(*) AS pending, min(created_at) AS oldest_at FROM events_event
         WHERE status = 'pending' AND brand_id = ANY (%(brand_ids)s::bigint[])) p,
       (SELECT count(*) AS dead FROM events_event
         WHERE status = 'dead' AND brand_id = ANY (%(brand_ids)s::bigint[])) d
