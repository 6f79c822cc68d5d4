-- set: each day that is rolled up, and the dashboard. Part of roll_up_days.sql and of the dashboard's statements:
-- whether the code of a scan `s` is scanned now. A scan that found it already scanned needs no look-up. The others are
-- looked up one by one: no index on codes may contain their count, because each scan would have to change it.
(s.outcome = 'success' OR s.scan_count > 0
 OR COALESCE((SELECT c.scan_count > 0 FROM authcodes_authcode c WHERE c.id = s.auth_code_id), false))
