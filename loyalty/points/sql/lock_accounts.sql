-- set: whatever locks several accounts, such as transfers, merges, imports, erasure and the nightly runs. Locks the
-- given accounts in the order of their ids, whatever the order of the list, until the end of the transaction. Returns
-- their ids.
SELECT user_point_id FROM user_points WHERE user_point_id = ANY (%(accounts)s::bigint[])
 ORDER BY user_point_id FOR NO KEY UPDATE
