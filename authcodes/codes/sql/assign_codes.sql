-- set: each change of codes by staff. Assigns codes to a product; an empty value leaves the code's own as it is. Skips
-- codes of another product, which the caller counts. `{which}`: the codes; `{returning}`: what to return of the changed
-- codes, or nothing. Of two concurrent changes the second sees the code as the first left it. Locks the codes that it
-- changes.
UPDATE authcodes_authcode
   SET product_id = %(product)s::bigint, notes = coalesce(nullif(%(notes)s::text, ''), notes),
       inventory_location = coalesce(nullif(%(location)s::text, ''), inventory_location),
       points_per_scan = coalesce(%(points)s::int, points_per_scan)
 WHERE {which} AND (product_id IS NULL OR product_id = %(product)s::bigint)
{returning}
