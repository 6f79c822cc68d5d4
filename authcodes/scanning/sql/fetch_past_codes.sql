-- set: each page of a replay. What scanned codes give earning rules now: with their products and batches, but nothing
-- of a scan. Returns PastCode, no row where the brand has no such code. Locks nothing.
SELECT c.code, c.batch_id, c.product_id, b.campaign_id,
       COALESCE(c.points_per_scan, b.points_per_scan, p.redeem_point_value) AS redeem_point_value,
       p.sku, p.category, p.tags, p.retail_price
  FROM authcodes_authcode c
  JOIN authcodes_batchrange b ON b.id = c.batch_id
  LEFT JOIN authcodes_product p ON p.id = c.product_id
 WHERE c.brand_id = %(brand_id)s::bigint AND c.code = ANY (%(codes)s::text[] COLLATE "C")
