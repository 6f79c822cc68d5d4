-- hot: each scan. Part of the statements that record a scan: inserts one per row of `{origin}`, which has one row or
-- none. `{scan_count}`: how many scans of the code were accepted, with this one.
INSERT INTO authcodes_scan
       (scan_id, brand_id, auth_code_id, code, user_id, batch_id, product_id, campaign_id, outcome, reason,
        points_status, unconfirmed, points_promised, points_awarded, scan_count, latitude, longitude, location,
        located_at, device, app_version, scanned_at)
SELECT %(scan_id)s::uuid, %(brand_id)s::bigint, %(code_id)s::bigint, %(code)s::text, %(user_id)s::bigint,
       %(batch_id)s::bigint, %(product_id)s::bigint, %(campaign_id)s::bigint, %(outcome)s::text,
       %(reason)s::text, %(points_status)s::text, %(unconfirmed)s::boolean, %(points_promised)s::numeric, 0,
       {scan_count}, %(latitude)s::float, %(longitude)s::float, %(location)s::text,
       CASE WHEN %(location)s::text <> '' OR %(latitude)s::float IS NOT NULL THEN %(at)s::timestamptz END,
       %(device)s::text, %(app_version)s::text, %(at)s::timestamptz
  FROM {origin}
RETURNING scan_id
