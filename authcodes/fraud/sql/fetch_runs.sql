-- set: the overview page. Reads the first scans among each brand's `newest`, with each code's number in its batch. A
-- run ends where the next number is more than `gap` away, or its scan more than `pause` seconds. Returns Run, newest
-- first: runs of at least `least` codes by at most `customers` customers. Locks nothing.
WITH first_scans AS MATERIALIZED (
    SELECT s.brand_id, s.batch_id, s.user_id, s.scanned_at,
           substr(s.code, length(b.prefix) + 1)::bigint AS number, s.code
      FROM unnest(%(brand_ids)s::bigint[]) AS asked(brand_id)
     CROSS JOIN LATERAL (
           SELECT newest.brand_id, newest.batch_id, newest.user_id, newest.scanned_at, c.code
             FROM (SELECT brand_id, batch_id, user_id, scanned_at, auth_code_id, scan_count
                     FROM authcodes_scan
                    WHERE brand_id = asked.brand_id AND scanned_at >= %(since)s::timestamptz
                    ORDER BY scanned_at DESC, scan_id DESC
                    LIMIT %(newest)s::int) newest
             JOIN authcodes_authcode c ON c.id = newest.auth_code_id
            WHERE newest.scan_count = 1) s
      JOIN authcodes_batchrange b ON b.id = s.batch_id AND b.tag_version IS NULL AND NOT b.printed_elsewhere
     WHERE substr(s.code, length(b.prefix) + 1) ~ '^[0-9]{1,18}$'),
marked AS (
    SELECT *, CASE WHEN number - lag(number) OVER beside <= %(gap)s::int
                    AND abs(extract(epoch FROM scanned_at - lag(scanned_at) OVER beside)) <= %(pause)s::float
                   THEN 0 ELSE 1 END AS begins
      FROM first_scans WINDOW beside AS (PARTITION BY batch_id ORDER BY number)),
islands AS (
    SELECT *, sum(begins) OVER (PARTITION BY batch_id ORDER BY number) AS island FROM marked)
SELECT i.brand_id, i.batch_id, b.range_name AS batch, min(i.code) AS first_code, max(i.code) AS last_code,
       count(*)::int AS codes, min(i.scanned_at) AS first_at, max(i.scanned_at) AS last_at,
       count(DISTINCT COALESCE(i.user_id, 0))::int AS customers
  FROM islands i JOIN authcodes_batchrange b ON b.id = i.batch_id
 GROUP BY i.brand_id, i.batch_id, b.range_name, i.island
HAVING count(*) >= %(least)s::int AND count(DISTINCT COALESCE(i.user_id, 0)) <= %(customers)s::int
 ORDER BY max(i.scanned_at) DESC
 LIMIT %(most)s::int
