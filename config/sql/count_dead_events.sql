-- set: each scrape of the metrics. Counts the events that nobody could deliver, by kind, up to `limit` of them. Returns
-- DeadEvents. Locks nothing.
SELECT detail_type AS kind, count(*) AS number
  FROM (SELECT detail_type FROM events_event WHERE status = 'dead' LIMIT %(limit)s::int) AS dead
 GROUP BY detail_type
