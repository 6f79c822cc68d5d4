-- set: a part of the statements that evaluate segments. What each customer has opted out of.
SELECT n.user_id, n.opted_out::text[] AS opted_out
  FROM loyalty_notificationpreference n
 WHERE n.brand_id = %(brand_id)s::bigint AND n.user_id {among_users}
