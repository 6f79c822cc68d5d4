-- set: each row of an import of ranges that is committed. Gives the codes of a range their product, place and points; an
-- empty cell leaves what is there. A code of another product is left out: the caller counts. Locks the codes.
UPDATE authcodes_authcode
   SET product_id = %(product)s::bigint, location = coalesce(nullif(%(location)s::text, ''), location),
       points_per_scan = coalesce(%(points)s::int, points_per_scan)
 WHERE code BETWEEN %(first)s::text AND %(last)s::text AND brand_id = %(brand)s::bigint
   AND batch_id = (SELECT batch_id FROM authcodes_authcode WHERE code = %(first)s::text)
   AND (product_id IS NULL OR product_id = %(product)s::bigint)
