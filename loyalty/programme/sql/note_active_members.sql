-- set: each day that is rolled up. Stores once a month who earned or redeemed on the days from `first` to `last`.
-- Ledger entries are never deleted, so nobody is removed. Locks no existing rows.
INSERT INTO loyalty_activemember (brand_id, user_point_id, month)
SELECT DISTINCT p.brand_id, t.user_point_id,
       date_trunc('month', t."createdAt" AT TIME ZONE %(zone)s::text)::date
  FROM loyalty_transaction t JOIN user_points p USING (user_point_id)
 WHERE p.brand_id = %(brand)s::bigint
   AND t."createdAt" >= %(first)s::date::timestamp AT TIME ZONE %(zone)s::text
   AND t."createdAt" < (%(last)s::date + 1)::timestamp AT TIME ZONE %(zone)s::text
   AND {activity}
    ON CONFLICT (brand_id, month, user_point_id) DO NOTHING
