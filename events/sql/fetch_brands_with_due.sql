-- hot: each turn of a worker in a slow lane. The brands with due events in `lane`: steps from brand to brand along the
-- index, however many events each has. Returns their ids. Locks nothing.
WITH RECURSIVE waiting AS (
    (SELECT brand_id FROM events_event
      WHERE status = 'pending' AND lane <> 'points' AND lane = %(lane)s::text ORDER BY brand_id LIMIT 1)
    UNION ALL
    SELECT (SELECT e.brand_id FROM events_event e
             WHERE e.status = 'pending' AND e.lane <> 'points' AND e.lane = %(lane)s::text
               AND e.brand_id > w.brand_id
             ORDER BY e.brand_id LIMIT 1)
      FROM waiting w WHERE w.brand_id IS NOT NULL
)
SELECT w.brand_id FROM waiting w
 WHERE w.brand_id IS NOT NULL
   AND EXISTS (SELECT 1 FROM events_event e
                WHERE e.status = 'pending' AND e.lane <> 'points' AND e.lane = %(lane)s::text
                  AND e.brand_id = w.brand_id AND e.due_at <= statement_timestamp())
