-- set: each import, when it is checked and again when it is committed. Marks the rows whose product gives more points
-- than the user may set; `product` is null where each row names its own. Locks the rows that it changes.
UPDATE authcodes_importrow r
   SET error = %(product_refused)s::text, error_values = %(product_values)s::jsonb,
       error_column = %(product_column)s::text
  FROM authcodes_product p
 WHERE r.upload_id = %(upload)s::bigint AND r.error = '' AND p.id = coalesce(%(product)s::bigint, r.product_id)
   AND p.redeem_point_value > %(most_of_product)s::int
