-- set: each row of an import of ranges that is committed. Assigns product, place and points to the codes of a range; an
-- empty cell leaves the code's value as it is. Skips codes of another product, which the caller counts. Locks the
-- codes.
UPDATE authcodes_authcode
   SET product_id = %(product)s::bigint, location = coalesce(nullif(%(location)s::text, ''), location),
       points_per_scan = coalesce(%(points)s::int, points_per_scan)
 WHERE code BETWEEN %(first)s::text AND %(last)s::text AND brand_id = %(brand)s::bigint
   AND batch_id = (SELECT batch_id FROM authcodes_authcode WHERE code = %(first)s::text)
   AND (product_id IS NULL OR product_id = %(product)s::bigint)
