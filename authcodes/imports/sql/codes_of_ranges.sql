-- set: each import of ranges that is committed or undone. Part of the statements on its codes: the `id` of each code in
-- its good rows, and what the row sets on it. The + 0 makes PostgreSQL look up each code, also before it has counted
-- the brand's new ones, and OFFSET 0 join each range by one index search of its own.
SELECT c.id, r.product_id, r.location, r.notes, r.points_per_scan
  FROM authcodes_importrow r
  JOIN authcodes_authcode a ON a.code = r.code AND a.brand_id + 0 = %(brand)s::bigint
 CROSS JOIN LATERAL (SELECT id FROM authcodes_authcode
                      WHERE code BETWEEN r.code AND r.code_end AND batch_id = a.batch_id OFFSET 0) c
 WHERE r.upload_id = %(upload)s::bigint AND r.error = ''
