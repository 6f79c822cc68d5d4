-- set: a part of the statements that evaluate segments. The birthday of each user whose birthday the brand knows, as
-- month times a hundred plus day.
SELECT b.user_id, b.month * 100 + b.day AS month_day
  FROM loyalty_birthday b
 WHERE b.brand_id = %(brand_id)s::bigint AND b.user_id {among_users}
