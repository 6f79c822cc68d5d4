-- set: each rebuild of a brand's rollups. Returns the local day of the brand's first ledger entry or account, null if
-- there is none. Reads all of the brand's entries. Locks nothing.
SELECT (least(
           (SELECT min(t."createdAt") FROM loyalty_transaction t JOIN user_points p USING (user_point_id)
             WHERE p.brand_id = %(brand)s::bigint),
           (SELECT min(p.enrolled_at) FROM user_points p WHERE p.brand_id = %(brand)s::bigint)
       ) AT TIME ZONE %(zone)s::text)::date AS first_day
