-- set: each scrape of the metrics. Counts the events that wait to be delivered, by lane and kind, up to `limit` of them: a
-- scrape must not become a load of its own. Returns PendingEvents. Locks nothing.
SELECT lane, detail_type AS kind, count(*) AS number, min(created_at) AS created_at, min(due_at) AS due_at
  FROM (SELECT lane, detail_type, created_at, due_at FROM events_event
         WHERE status = 'pending' AND on_hold_for IS NULL LIMIT %(limit)s::int) AS pending
 GROUP BY lane, detail_type
