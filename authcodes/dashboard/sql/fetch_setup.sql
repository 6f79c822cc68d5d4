-- set: Home. How far a new brand is set up; returns Setup. `code_id`: a code of one of the newest batches, its last,
-- that nobody has scanned and that a scan would find good. Locks nothing.
SELECT (b.logo_id IS NOT NULL OR b.colour_accent <> '#0b57d0' OR b.colour_background <> '#ffffff') AS appearance,
       EXISTS (SELECT 1 FROM brands_brandhostname h WHERE h.brand_id = b.id) AS hostname,
       EXISTS (SELECT 1 FROM loyalty_brandlevel l WHERE l.brand_id = b.id) AS level,
       EXISTS (SELECT 1 FROM authcodes_product p WHERE p.brand_id = b.id) AS product,
       EXISTS (SELECT 1 FROM authcodes_batchrange r WHERE r.brand_id = b.id) AS batch,
       EXISTS (SELECT 1 FROM loyalty_reward r WHERE r.brand_id = b.id) AS reward,
       EXISTS (SELECT 1 FROM loyalty_notificationsettings n WHERE n.brand_id = b.id AND n.is_active) AS messages,
       EXISTS (SELECT 1 FROM brands_staffrole s WHERE s.brand_id = b.id OFFSET 1) AS colleague,
       EXISTS (SELECT 1 FROM authcodes_scan s WHERE s.brand_id = b.id AND s.outcome = 'success') AS scan,
       (SELECT c.id
          FROM (SELECT r.id, r.last_code FROM authcodes_batchrange r
                 WHERE r.brand_id = b.id AND r.generated_count = r.quantity AND NOT r.printed_elsewhere
                   AND (r.expiration_date IS NULL
                        OR r.expiration_date >= (%(now)s::timestamptz AT TIME ZONE b.time_zone)::date)
                   AND r.recall_id IS NULL
                 ORDER BY r.id DESC LIMIT 5) r
          JOIN authcodes_authcode c ON c.code = r.last_code AND c.batch_id = r.id
         WHERE c.product_id IS NOT NULL AND c.deactivated_at IS NULL AND c.scan_count = 0
         ORDER BY r.id DESC LIMIT 1) AS code_id
  FROM brands_brand b
 WHERE b.id = %(brand)s::bigint
