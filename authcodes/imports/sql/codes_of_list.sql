-- set: each import of a list that is committed or undone. Part of the statements on its codes: those that its good rows
-- name, `id`, and what the row wants of each.
SELECT c.id, %(product)s::bigint AS product_id, r.location, r.notes, r.points_per_scan
  FROM authcodes_importrow r JOIN authcodes_authcode c ON c.code = r.code AND c.brand_id = %(brand)s::bigint
 WHERE r.upload_id = %(upload)s::bigint AND r.error = ''
