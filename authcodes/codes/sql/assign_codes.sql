-- set: each change of codes by staff. Gives codes their product; what is empty stays on each code as it is. Codes of
-- another product are left out: the caller counts. `{which}`: the codes; `{returning}`: what to return of those that
-- change, or nothing. Whoever comes second finds the code as the first left it. Locks the codes that it changes.
UPDATE authcodes_authcode
   SET product_id = %(product)s::bigint, notes = coalesce(nullif(%(notes)s::text, ''), notes),
       inventory_location = coalesce(nullif(%(location)s::text, ''), inventory_location),
       points_per_scan = coalesce(%(points)s::int, points_per_scan)
 WHERE {which} AND (product_id IS NULL OR product_id = %(product)s::bigint)
{returning}
