-- set: each import of codes printed elsewhere that is committed. Inserts the codes of its good rows, sorted by code:
-- every such import uses this order. Locks nothing, but waits for transactions that insert the same codes.
INSERT INTO authcodes_authcode
       (code, payload, brand_id, batch_id, product_id, scan_count, first_scan_location, inventory_location, location,
        notes, created_at)
SELECT r.code, r.payload, %(brand)s::bigint, %(batch)s::bigint, %(product)s::bigint, 0, '', r.location, '', r.notes,
       %(at)s::timestamptz
  FROM authcodes_importrow r
 WHERE r.upload_id = %(upload)s::bigint AND r.error = ''
 ORDER BY r.code
