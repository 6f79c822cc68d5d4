-- check: every done event that earned points. Returns a Contradiction for each that did not publish one
-- `balance-changed` and one `notify`. Checks only events whose consequences are still stored: not those finished more
-- than `event_log_days` ago, nor those older than the oldest consequence, because a shorter setting may have deleted
-- theirs.
SELECT 'event ' || e.event_id AS subject, '1 and 1' AS expected,
       count(*) FILTER (WHERE f.detail_type = 'balance-changed') || ' and '
           || count(*) FILTER (WHERE f.detail_type = 'notify') AS actual
  FROM events_event e
  LEFT JOIN events_event f ON f.brand_id = e.brand_id AND f.detail_type IN ('balance-changed', 'notify')
        AND f.detail->'payload'->>'cause' = e.event_id::text
 WHERE e.status = 'done' AND e.outcome->>'transaction_id' IS NOT NULL
   AND e.finished_at >= greatest(now() - make_interval(days => {event_log_days}),
                                 (SELECT min(created_at) FROM events_event
                                   WHERE detail_type IN ('balance-changed', 'notify')))
 GROUP BY e.id, e.event_id
HAVING count(*) FILTER (WHERE f.detail_type = 'balance-changed') <> 1
    OR count(*) FILTER (WHERE f.detail_type = 'notify') <> 1
