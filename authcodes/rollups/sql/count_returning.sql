-- set: each time that a brand's days close. Counts the customers who scanned up to the last closed day, and how many of
-- them scanned on several days. Reads all days of the brand, once a day. Locks the brand's watermark.
WITH customer AS (
    SELECT r.user_id, min(r.day) < max(r.day) AS returned
      FROM authcodes_uniquescannerrollup r
     WHERE r.brand_id = %(brand)s::bigint AND r.day <= %(until)s::date
     GROUP BY r.user_id
), counted AS (
    SELECT count(*) AS unique_scanners, count(*) FILTER (WHERE returned) AS returned FROM customer
)
UPDATE authcodes_rollupwatermark m
   SET unique_scanners = c.unique_scanners, returned = c.returned, counted_until = m.until
  FROM counted c
 WHERE m.brand_id = %(brand)s::bigint AND m.until = %(until)s::date
