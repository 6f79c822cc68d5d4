-- check: every order that was returned, whole or in part. Returns a Contradiction for each whose returns took back more
-- points than the order gave, or more money than was paid, or belong neither to the customer who ordered nor to the
-- member into whose account theirs was merged.
SELECT format('order %%s of brand %%s', r.order_id, r.brand_id) AS subject,
       format('at most %%s points of %%s', coalesce(t.points, 0), o.amount) AS expected,
       format('%%s points of %%s', r.points, r.amount) AS actual
  FROM (SELECT brand_id, order_id, sum(points_reversed + points_cancelled) AS points, sum(amount) AS amount
          FROM loyalty_orderreturn WHERE status = 'applied' GROUP BY 1, 2) r
  LEFT JOIN loyalty_creditedorder o ON o.brand_id = r.brand_id AND o.order_id = r.order_id
  LEFT JOIN user_points a ON a.brand_id = r.brand_id AND a.user_id = o.user_id
  LEFT JOIN LATERAL (SELECT t.points_earned + t.points_pending AS points FROM loyalty_transaction t
                      WHERE t.user_point_id = a.user_point_id AND t.reason_id = 'order:' || r.order_id) t ON true
 WHERE o.id IS NULL OR r.points > coalesce(t.points, 0) OR r.amount > o.amount
    OR EXISTS (SELECT FROM loyalty_orderreturn x
                 LEFT JOIN user_points y ON y.brand_id = x.brand_id AND y.user_id = x.user_id
                WHERE x.brand_id = r.brand_id AND x.order_id = r.order_id AND x.status = 'applied'
                  AND x.user_id <> o.user_id AND a.merged_into_id IS DISTINCT FROM y.user_point_id)
