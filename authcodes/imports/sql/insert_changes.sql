-- set: each import that is committed. Notes what its codes hold before it, to undo it; what nothing was set on needs no
-- note. `{targets}`: the codes. Locks the codes that it notes.
INSERT INTO authcodes_importchange
       (upload_id, auth_code_id, product_id, inventory_location, location, notes, points_per_scan)
SELECT %(upload)s::bigint, c.id, c.product_id, c.inventory_location, c.location, c.notes, c.points_per_scan
  FROM ({targets}) t JOIN authcodes_authcode c ON c.id = t.id
 WHERE c.product_id IS NOT NULL OR c.points_per_scan IS NOT NULL
    OR c.inventory_location <> '' OR c.location <> '' OR c.notes <> ''
   FOR UPDATE OF c
