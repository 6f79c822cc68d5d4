-- set: each page of an import's bad rows. Returns Owner: for each of the `rows` its first code that belongs to another
-- product, found in the index of the batch's codes. Locks nothing.
SELECT r.id AS row_id, t.code, p.sku
  FROM authcodes_importrow r
  JOIN authcodes_authcode a ON a.code = r.code AND a.brand_id = %(brand)s::bigint
 CROSS JOIN LATERAL (
       SELECT c.code, c.product_id FROM authcodes_authcode c
        WHERE c.batch_id = a.batch_id AND c.code BETWEEN r.code AND coalesce(nullif(r.code_end, ''), r.code)
          AND c.product_id <> coalesce(r.product_id, %(product)s::bigint)
        ORDER BY c.code LIMIT 1) t
  JOIN authcodes_product p ON p.id = t.product_id
 WHERE r.upload_id = %(upload)s::bigint AND r.id = ANY(%(rows)s::bigint[])
