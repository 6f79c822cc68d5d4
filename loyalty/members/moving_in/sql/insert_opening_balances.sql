-- set: each import of members, if the brand gives points only to confirmed addresses. Inserts waiting opening balances
-- from parallel arrays, once per reason_id. Locks no existing rows.
INSERT INTO loyalty_openingbalance (brand_id, user_id, reason_id, points, note, created_at)
SELECT %(brand_id)s::bigint, o.user_id, %(reason_id)s::text, o.points, %(note)s::text, %(at)s::timestamptz
  FROM unnest(%(user_ids)s::bigint[], %(points)s::numeric[]) AS o (user_id, points)
 ORDER BY o.user_id
    ON CONFLICT (brand_id, user_id, reason_id) DO NOTHING
