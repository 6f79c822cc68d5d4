-- set: each page of a replay at a brand that has its own kinds of events. Counts those that had earned members anything
-- before a moment. Returns OwnCountRow. Locks nothing.
SELECT m.user_id, split_part(t.reason_id, ':', 2) AS kind, count(*) AS events
  FROM user_points m
  JOIN loyalty_transaction t ON t.user_point_id = m.user_point_id AND t."createdAt" < %(since)s::timestamptz
 WHERE m.brand_id = %(brand_id)s::bigint AND m.user_id = ANY (%(user_ids)s::bigint[])
   AND t.reason = 'earned' AND t.reason_id LIKE 'event:%%'
 GROUP BY m.user_id, kind
