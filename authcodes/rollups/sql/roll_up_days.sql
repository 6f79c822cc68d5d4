-- set: the days of a brand that have closed since the last run, and stale days. Writes all rollups of the scans of
-- whole local days, from `first` to `last` in the brand's `zone`, whose old rows are deleted. It is one statement, so
-- that all tables describe the same moment. Locks the rows of unique scanners that it changes.
WITH cell AS (
    INSERT INTO authcodes_batchplacerollup
           (brand_id, day, batch_id, campaign_id, product_id, location,
            accepted, first_scans, warnings, errors, recalled, points, unsettled)
    SELECT s.brand_id, (s.scanned_at AT TIME ZONE %(zone)s::text)::date AS day, s.batch_id, s.campaign_id,
           s.product_id, s.location,
           {counts}
      FROM authcodes_scan s
     WHERE s.brand_id = %(brand)s::bigint
       AND s.scanned_at >= %(first)s::date::timestamp AT TIME ZONE %(zone)s::text
       AND s.scanned_at < (%(last)s::date + 1)::timestamp AT TIME ZONE %(zone)s::text
     GROUP BY 1, 2, 3, 4, 5, 6
    RETURNING brand_id, day, batch_id, campaign_id, product_id, location,
              accepted, first_scans, warnings, errors, recalled, points, unsettled
), day AS (
    INSERT INTO authcodes_dayrollup
           (brand_id, day, batch_id, campaign_id, product_id,
            accepted, first_scans, warnings, errors, recalled, points, unsettled)
    SELECT brand_id, day, batch_id, campaign_id, product_id,
           sum(accepted), sum(first_scans), sum(warnings), sum(errors), sum(recalled), sum(points), sum(unsettled)
      FROM cell
     GROUP BY 1, 2, 3, 4, 5
), place AS (
    INSERT INTO authcodes_placerollup
           (brand_id, day, location,
            accepted, first_scans, warnings, errors, recalled, points, unsettled)
    SELECT brand_id, day, location,
           sum(accepted), sum(first_scans), sum(warnings), sum(errors), sum(recalled), sum(points), sum(unsettled)
      FROM cell
     GROUP BY 1, 2, 3
), scanner AS (
    INSERT INTO authcodes_uniquescannerrollup (brand_id, day, user_id, batch_id, campaign_id, location, scanned)
    SELECT s.brand_id, (s.scanned_at AT TIME ZONE %(zone)s::text)::date AS day, s.user_id, s.batch_id, s.campaign_id,
           s.location, bool_or({of_scanned_code})
      FROM authcodes_scan s
     WHERE s.brand_id = %(brand)s::bigint
       AND s.scanned_at >= %(first)s::date::timestamp AT TIME ZONE %(zone)s::text
       AND s.scanned_at < (%(last)s::date + 1)::timestamp AT TIME ZONE %(zone)s::text
       AND s.user_id IS NOT NULL
     GROUP BY 1, 2, 3, 4, 5, 6
    RETURNING brand_id, user_id, scanned
), unsuccessful_attempt AS (
    INSERT INTO authcodes_unscannedcodeattempt
           (brand_id, day, auth_code_id, user_id, batch_id, campaign_id, product_id, location, outcome, reason)
    SELECT s.brand_id, (s.scanned_at AT TIME ZONE %(zone)s::text)::date AS day, s.auth_code_id, s.user_id, s.batch_id,
           s.campaign_id, s.product_id, s.location, s.outcome, s.reason
      FROM authcodes_scan s
     WHERE s.brand_id = %(brand)s::bigint
       AND s.scanned_at >= %(first)s::date::timestamp AT TIME ZONE %(zone)s::text
       AND s.scanned_at < (%(last)s::date + 1)::timestamp AT TIME ZONE %(zone)s::text
       AND {unsuccessful}
), hour AS (
    INSERT INTO authcodes_hourrollup (brand_id, day, hour, scans)
    SELECT s.brand_id, (s.scanned_at AT TIME ZONE %(zone)s::text)::date,
           extract(hour FROM s.scanned_at AT TIME ZONE %(zone)s::text)::smallint, count(*)
      FROM authcodes_scan s
     WHERE s.brand_id = %(brand)s::bigint
       AND s.scanned_at >= %(first)s::date::timestamp AT TIME ZONE %(zone)s::text
       AND s.scanned_at < (%(last)s::date + 1)::timestamp AT TIME ZONE %(zone)s::text
     GROUP BY 1, 2, 3
)
INSERT INTO authcodes_uniquescanner AS known (brand_id, user_id, scanned)
SELECT brand_id, user_id, bool_or(scanned) FROM scanner GROUP BY 1, 2 ORDER BY 2
    ON CONFLICT (brand_id, user_id) DO UPDATE SET scanned = true WHERE excluded.scanned AND NOT known.scanned
