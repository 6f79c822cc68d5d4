-- set: each import of ranges. Marks the rows whose product is no longer sold. Locks the rows that it changes.
UPDATE authcodes_importrow r SET error = %(not_sold)s::text, error_column = 'product_sku'
  FROM authcodes_product p
 WHERE r.upload_id = %(upload)s::bigint AND r.error = '' AND p.id = r.product_id AND NOT p.is_active
