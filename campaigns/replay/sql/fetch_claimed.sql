-- set: pages of a replay with actions that may have earned at another time. Which of these reasons have a ledger entry,
-- and its moment. Returns ClaimedRow. Locks nothing.
SELECT m.user_id, t.reason_id, t."createdAt" AS at
  FROM user_points m
  JOIN loyalty_transaction t ON t.user_point_id = m.user_point_id
 WHERE m.brand_id = %(brand_id)s::bigint AND m.user_id = ANY (%(user_ids)s::bigint[])
   AND t.reason_id = ANY (%(reason_ids)s::text[])
