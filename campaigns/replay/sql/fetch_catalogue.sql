-- set: pages of a replay with orders. The brand's products in the orders' items: as fetch_snapshots.sql, for a whole
-- page. Returns ProductRow. Locks nothing.
SELECT p.id, p.sku, p.category, p.tags
  FROM authcodes_product p
 WHERE p.brand_id = %(brand_id)s::bigint AND (p.id = ANY (%(products)s::bigint[]) OR p.sku = ANY (%(skus)s::text[]))
