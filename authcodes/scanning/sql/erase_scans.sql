-- set: the erasure of a customer. Assigns their scans at a brand to the pseudonym `to`. If nothing is left of the user
-- themselves, it takes all their scans: also those of unknown codes and of other brands' codes, made as this brand's
-- customer. Keeps only the city of the place. Locks the scans.
UPDATE authcodes_scan
   SET user_id = %(to)s::bigint, latitude = NULL, longitude = NULL, device = '', app_version = ''
 WHERE user_id = %(user_id)s::bigint
   AND (brand_id = %(brand_id)s::bigint OR user_id = %(to)s::bigint)
