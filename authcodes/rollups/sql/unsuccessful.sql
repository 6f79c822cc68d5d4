-- set: each day that is rolled up, and the dashboard. Part of roll_up_days.sql and of the dashboard's statements: whether a
-- scan `s` was an attempt on a code that nobody has scanned yet.
(s.outcome <> 'success' AND s.scan_count = 0
 AND (SELECT c.scan_count = 0 FROM authcodes_authcode c WHERE c.id = s.auth_code_id))
