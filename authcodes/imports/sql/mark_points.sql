-- set: each import, when it is checked and again when it is committed. Marks the rows that set more points than the user
-- may set. Locks the rows that it changes.
UPDATE authcodes_importrow
   SET error = %(points_refused)s::text, error_values = %(points_values)s::jsonb, error_column = 'points_per_scan'
 WHERE upload_id = %(upload)s::bigint AND error = '' AND points_per_scan > %(most)s::int
