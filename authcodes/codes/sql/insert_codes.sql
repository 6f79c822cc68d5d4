-- set: each portion of a batch that is generated. Inserts the batch's codes with the numbers `low` to `high`, both
-- counted from `start`. Locks nothing.
INSERT INTO authcodes_authcode
       (code, brand_id, batch_id, product_id, scan_count, first_scan_location, inventory_location, location,
        notes, created_at)
SELECT %(prefix)s::text || lpad((%(start)s::bigint + i)::text, %(width)s::int, '0'), %(brand_id)s::bigint,
       %(batch_id)s::bigint, %(product_id)s::bigint, 0, '', '', '', '', %(at)s::timestamptz
  FROM generate_series(%(low)s::bigint, %(high)s::bigint) AS i
