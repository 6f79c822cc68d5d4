-- set: each import of ranges. Sets on the rows the brand's product that has their SKU. Locks the rows that it changes.
UPDATE authcodes_importrow r SET product_id = p.id
  FROM authcodes_product p
 WHERE r.upload_id = %(upload)s::bigint AND p.brand_id = %(brand)s::bigint AND p.sku = r.sku
