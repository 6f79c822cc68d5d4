-- set: a part of loyalty/members/listing/sql/refresh_listed_members.sql: the users who scanned codes of each brand
-- since `since`, with their last scan; uses the index of each brand's scans.
    SELECT scan.user_id, brand.id AS brand_id, max(scan.scanned_at) AS at
      FROM brands_brand AS brand
     CROSS JOIN LATERAL (
           SELECT user_id, scanned_at
             FROM authcodes_scan
            WHERE brand_id = brand.id AND scanned_at >= %(since)s::timestamptz AND user_id IS NOT NULL) AS scan
     GROUP BY scan.user_id, brand.id
