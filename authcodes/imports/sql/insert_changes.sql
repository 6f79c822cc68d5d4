-- set: each import that is committed. Stores the values of its codes before the import, so that it can be undone. Codes
-- without any values need no row. `{targets}`: the codes. Locks the codes that it stores.
INSERT INTO authcodes_importchange
       (upload_id, auth_code_id, product_id, inventory_location, location, notes, points_per_scan)
SELECT %(upload)s::bigint, c.id, c.product_id, c.inventory_location, c.location, c.notes, c.points_per_scan
  FROM ({targets}) t JOIN authcodes_authcode c ON c.id = t.id
 WHERE c.product_id IS NOT NULL OR c.points_per_scan IS NOT NULL
    OR c.inventory_location <> '' OR c.location <> '' OR c.notes <> ''
   FOR UPDATE OF c
