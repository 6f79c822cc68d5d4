-- set: each page of a replay at a brand whose rules have limits. What these rules had given members at a moment, in the
-- periods that contain it, summed from the ledger's shares; each share counts under the limits of the rule's version
-- then. A share that the programme's own limit cut to zero still counts as one use. Returns UseRow. Locks nothing.
SELECT m.user_id, s.rule AS rule_id, l.period, sum(s.points) AS points, count(*) AS events
  FROM user_points m
  JOIN loyalty_transaction t ON t.user_point_id = m.user_point_id AND t."createdAt" < %(since)s::timestamptz
 CROSS JOIN LATERAL jsonb_to_recordset(t.details -> 'shares')
       AS s (rule bigint, version int, points numeric, cut jsonb)
  JOIN campaigns_earningruleversion v
    ON v.brand_id = m.brand_id AND v.rule_id = s.rule AND v.number = s.version
 CROSS JOIN LATERAL (
       SELECT DISTINCT coalesce(each ->> 'period', 'ever') AS period
         FROM jsonb_array_elements(v.content -> 'limits') AS each
        WHERE each ->> 'per' = 'member' AND coalesce(each ->> 'period', 'ever') <> 'event') AS l
 WHERE m.brand_id = %(brand_id)s::bigint AND m.user_id = ANY (%(user_ids)s::bigint[])
   AND (s.points > 0 OR s.cut ->> 'per' = 'brand')
   AND t."createdAt" >= CASE l.period WHEN 'day' THEN %(day)s::timestamptz WHEN 'week' THEN %(week)s::timestamptz
                                      WHEN 'month' THEN %(month)s::timestamptz ELSE '-infinity' END
 GROUP BY m.user_id, s.rule, l.period
