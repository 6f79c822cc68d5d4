-- set: each replay at a brand whose rules have budgets, once. What these rules had given in total at a moment, computed
-- as in fetch_uses_at.sql. Returns BudgetRow. Locks nothing.
SELECT s.rule AS rule_id, sum(s.points) AS points, count(*) AS events
  FROM user_points m
  JOIN loyalty_transaction t ON t.user_point_id = m.user_point_id AND t."createdAt" < %(since)s::timestamptz
 CROSS JOIN LATERAL jsonb_to_recordset(t.details -> 'shares')
       AS s (rule bigint, version int, points numeric, cut jsonb)
  JOIN campaigns_earningruleversion v
    ON v.brand_id = m.brand_id AND v.rule_id = s.rule AND v.number = s.version
 WHERE m.brand_id = %(brand_id)s::bigint AND (s.points > 0 OR s.cut ->> 'per' = 'brand')
   AND EXISTS (SELECT FROM jsonb_array_elements(v.content -> 'limits') AS each WHERE each ->> 'per' = 'rule')
 GROUP BY s.rule
