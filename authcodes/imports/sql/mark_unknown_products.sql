-- set: each import of ranges. Marks the rows for which match_products.sql found no product. Locks the rows that it
-- changes.
UPDATE authcodes_importrow SET error = %(no_sku)s::text, error_column = 'product_sku'
 WHERE upload_id = %(upload)s::bigint AND error = '' AND product_id IS NULL
