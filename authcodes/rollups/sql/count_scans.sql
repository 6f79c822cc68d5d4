-- set: each day that is rolled up, and its checks. Part of roll_up_days.sql and compare_counts.sql: the counts of a group
-- of scans `s`, in the order of the rollups' columns.
count(*) FILTER (WHERE s.outcome = 'success') AS accepted,
count(*) FILTER (WHERE s.outcome = 'success' AND s.scan_count = 1) AS first_scans,
count(*) FILTER (WHERE s.outcome = 'warning') AS warnings,
count(*) FILTER (WHERE s.outcome = 'error') AS errors,
count(*) FILTER (WHERE s.reason = 'recalled') AS recalled,
COALESCE(sum(s.points_awarded), 0) AS points,
count(*) FILTER (WHERE s.points_status = 'pending' OR s.latitude IS NOT NULL AND s.located_at IS NULL) AS unsettled
