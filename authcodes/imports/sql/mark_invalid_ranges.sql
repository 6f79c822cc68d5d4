-- set: each import of ranges. Marks the rows whose range ends before its start, or in another batch. Codes of one batch
-- have the same length, so they sort like their numbers. Locks the rows that it changes.
UPDATE authcodes_importrow r
   SET error = CASE WHEN b.printed_elsewhere THEN %(no_ranges)s::text
                    WHEN length(r.code) <> length(r.code_end) THEN %(other_length)s::text
                    WHEN a.batch_id <> z.batch_id THEN %(two_batches)s::text ELSE %(reversed)s::text END,
       error_column = 'auth_code_end'
  FROM authcodes_authcode a, authcodes_authcode z, authcodes_batchrange b
 WHERE r.upload_id = %(upload)s::bigint AND r.error = '' AND a.code = r.code AND z.code = r.code_end
   AND b.id = a.batch_id AND (b.printed_elsewhere OR a.batch_id <> z.batch_id OR r.code > r.code_end)
