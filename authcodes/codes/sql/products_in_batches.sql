-- set: a recall's poster, for batches that were made without a product. Steps from product to product in the index of
-- each batch's codes, at most `limit` times, instead of reading the codes. Returns the products' ids. Locks nothing.
WITH RECURSIVE found AS (
    SELECT b.batch_id, 1 AS step,
           (SELECT min(a.product_id) FROM authcodes_authcode a WHERE a.batch_id = b.batch_id) AS product_id
      FROM unnest(%(batches)s::bigint[]) AS b (batch_id)
     UNION ALL
    SELECT f.batch_id, f.step + 1,
           (SELECT min(a.product_id) FROM authcodes_authcode a
             WHERE a.batch_id = f.batch_id AND a.product_id > f.product_id)
      FROM found f
     WHERE f.product_id IS NOT NULL AND f.step < %(limit)s::int)
SELECT DISTINCT product_id FROM found WHERE product_id IS NOT NULL
