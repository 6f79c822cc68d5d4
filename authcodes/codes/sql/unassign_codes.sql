-- set: each change of codes by staff. Takes their product from codes that nobody has scanned, and, unless `keeps_points`,
-- their own points. `{which}`: the codes; `{returning}`: what to return of those that change, or nothing. Whoever comes
-- second finds the code as the first left it. Locks the codes that it changes.
UPDATE authcodes_authcode
   SET product_id = NULL, points_per_scan = CASE WHEN %(keeps_points)s::boolean THEN points_per_scan END
 WHERE {which} AND product_id IS NOT NULL AND scan_count = 0
{returning}
