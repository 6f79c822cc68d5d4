-- set: each import of a list that is committed. Assigns product, place and notes to the codes of its good rows; an
-- empty cell leaves the code's value as it is. Skips codes of another product, which the caller counts. The + 0
-- and the coalesce make PostgreSQL look up each code, also before it has counted new ones. Locks the codes.
UPDATE authcodes_authcode c
   SET product_id = %(product)s::bigint, inventory_location = coalesce(nullif(r.location, ''), c.inventory_location),
       notes = coalesce(nullif(r.notes, ''), c.notes)
  FROM authcodes_importrow r
 WHERE r.upload_id = %(upload)s::bigint AND r.error = '' AND c.code = r.code AND c.brand_id + 0 = %(brand)s::bigint
   AND coalesce(c.product_id, %(product)s::bigint) = %(product)s::bigint
