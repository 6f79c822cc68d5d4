-- set: each scrape of the metrics. Counts the pending events by lane and kind, at most `limit`, so that a scrape does
-- not become a load itself. Returns PendingEvents. Locks nothing.
SELECT lane, detail_type AS kind, count(*) AS number, min(created_at) AS created_at, min(due_at) AS due_at
  FROM (SELECT lane, detail_type, created_at, due_at FROM events_event
         WHERE status = 'pending' AND on_hold_for IS NULL LIMIT %(limit)s::int) AS pending
 GROUP BY lane, detail_type
