-- set: each chunk of the nightly run, before expire_points.sql. Locks the given accounts in the order of their ids
-- until the end of the transaction; everything that locks several accounts uses this order. Returns their ids.
SELECT user_point_id FROM user_points WHERE user_point_id = ANY (%(accounts)s::bigint[])
 ORDER BY user_point_id FOR NO KEY UPDATE
