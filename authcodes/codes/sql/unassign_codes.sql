-- set: each change of codes by staff. Removes the product from codes that nobody has scanned, and their own points
-- unless `keeps_points`. `{which}`: the codes; `{returning}`: what to return of the changed codes, or nothing. Of two
-- concurrent changes the second sees the code as the first left it. Locks the codes that it changes.
UPDATE authcodes_authcode
   SET product_id = NULL, points_per_scan = CASE WHEN %(keeps_points)s::boolean THEN points_per_scan END
 WHERE {which} AND product_id IS NOT NULL AND scan_count = 0
{returning}
