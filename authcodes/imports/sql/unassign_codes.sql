-- set: each import that is undone. Restores on codes what insert_changes.sql stored: only on codes that still have the
-- import's values, and only these values. `{targets}`: the codes; `{place}`: the column to which the import writes
-- places. Locks the codes.
UPDATE authcodes_authcode c
   SET product_id = o.product_id,
       {place} = CASE WHEN t.location = '' THEN c.{place} ELSE coalesce(o.{place}, '') END,
       notes = CASE WHEN t.notes = '' THEN c.notes ELSE coalesce(o.notes, '') END,
       points_per_scan = CASE WHEN t.points_per_scan IS NULL THEN c.points_per_scan ELSE o.points_per_scan END
  FROM ({targets}) t
  LEFT JOIN authcodes_importchange o ON o.upload_id = %(upload)s::bigint AND o.auth_code_id = t.id
 WHERE c.id = t.id AND c.product_id = t.product_id AND c.scan_count = 0 AND t.location IN ('', c.{place})
   AND t.notes IN ('', c.notes) AND (t.points_per_scan IS NULL OR t.points_per_scan = c.points_per_scan)
