-- set: a part of the statements that evaluate segments. The customer of each order that was credited after `after`.
SELECT o.user_id
  FROM loyalty_creditedorder o
 WHERE o.brand_id = %(brand_id)s::bigint AND o.credited_at > {after} AND o.user_id {among_users}
