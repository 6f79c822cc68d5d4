-- set: each scrape of the metrics. Counts the dead events by kind, at most `limit`. Returns DeadEvents. Locks nothing.
SELECT detail_type AS kind, count(*) AS number
  FROM (SELECT detail_type FROM events_event WHERE status = 'dead' LIMIT %(limit)s::int) AS dead
 GROUP BY detail_type
