-- set: a part of the statements that look for a friend's first action. The earliest counting entry of the friend of the
-- referral `r`: a scan or an order, as the programme says, whose points are in the member's balance. Pending points of
-- an order count when they are released; an order that was returned as a whole does not count.
SELECT t.loyalty_transaction_id AS entry, t.reason_id
  FROM loyalty_transaction t
 WHERE t.user_point_id = r.friend_id AND t.reason IN ('earned', 'pending')
   AND CASE
           WHEN strpos(t.reason_id, ':') = 0 THEN %(action)s::text <> 'order' AND t.points_earned > 0
           WHEN t.reason_id LIKE 'order:%%' AND %(action)s::text <> 'scan' THEN
               (t.points_earned > 0
                OR EXISTS (SELECT 1 FROM loyalty_transaction x
                            WHERE x.user_point_id = t.user_point_id
                              AND x.reason_id = 'release:' || t.loyalty_transaction_id))
               AND NOT EXISTS (
                   SELECT 1 FROM loyalty_orderreturn x
                     LEFT JOIN loyalty_creditedorder o ON o.brand_id = x.brand_id AND o.order_id = x.order_id
                    WHERE x.brand_id = r.brand_id AND x.order_id = substr(t.reason_id, 7) AND x.status = 'applied'
                    GROUP BY o.amount
                   HAVING bool_or(x.request ->> 'amount' IS NULL AND jsonb_array_length(x.request -> 'items') = 0)
                       OR o.amount > 0 AND sum(x.amount) >= o.amount)
           ELSE false
       END
 ORDER BY t.loyalty_transaction_id
 LIMIT 1
