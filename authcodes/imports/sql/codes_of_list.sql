-- set: each import of a list that is committed or undone. Part of the statements on its codes: the `id` of each code in
-- its good rows, and what the row sets on it. The + 0 makes PostgreSQL look up each code, also before it has counted
-- the brand's new ones.
SELECT c.id, %(product)s::bigint AS product_id, r.location, r.notes, r.points_per_scan
  FROM authcodes_importrow r JOIN authcodes_authcode c ON c.code = r.code AND c.brand_id + 0 = %(brand)s::bigint
 WHERE r.upload_id = %(upload)s::bigint AND r.error = ''
