-- set: the erasure of a person. Gives the pseudonym `to` their scans at a brand, or, where nothing is left of the person
-- themselves, all of them: codes of nobody, and of other brands, that they tried as this one's customer. Of the place the
-- city stays. Locks the scans.
UPDATE authcodes_scan
   SET user_id = %(to)s::bigint, latitude = NULL, longitude = NULL, device = '', app_version = ''
 WHERE user_id = %(user_id)s::bigint
   AND (brand_id = %(brand_id)s::bigint OR user_id = %(to)s::bigint)
