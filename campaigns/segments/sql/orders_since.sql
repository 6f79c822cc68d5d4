-- set: a part of the statements that evaluate segments. How many orders were credited to each customer after `after`.
SELECT o.user_id, count(*) AS n
  FROM loyalty_creditedorder o
 WHERE o.brand_id = %(brand_id)s::bigint AND o.credited_at > {after} AND o.user_id {among_users}
 GROUP BY o.user_id
