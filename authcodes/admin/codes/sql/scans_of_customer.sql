-- set: a part of portal/timeline/sql/fetch_timeline.sql: a customer's scans of a brand's codes.
SELECT 'scans' AS kind, found.scan_id::text AS id, found.scanned_at AS at,
       row_number() OVER (ORDER BY found.scanned_at DESC, found.scan_id DESC) AS position
  FROM unnest(%(users)s::bigint[]) AS own(id)
 CROSS JOIN LATERAL (
       SELECT scan_id, scanned_at
         FROM authcodes_scan
        WHERE user_id BETWEEN own.id AND own.id AND brand_id = %(brand)s::bigint
          AND (scanned_at, scan_id)
              < (coalesce((%(places)s::jsonb -> 'scans' ->> 0)::timestamptz, 'infinity'),
                 coalesce((%(places)s::jsonb -> 'scans' ->> 1)::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
          AND scanned_at <= %(until)s::timestamptz
        ORDER BY user_id, scanned_at DESC, scan_id DESC LIMIT %(most)s::int) AS found
 WHERE 'scans' = ANY (%(kinds)s::text[])
