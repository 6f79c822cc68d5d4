-- set: each run that rolls days up. For codes that have been scanned after all: deletes the earlier attempts, and
-- counts the customers who made them among those who scanned. Locks the rows that it changes.
WITH late AS (
    DELETE FROM authcodes_unscannedcodeattempt v
     WHERE v.brand_id = %(brand)s::bigint
       AND (SELECT c.scan_count > 0 FROM authcodes_authcode c WHERE c.id = v.auth_code_id)
    RETURNING v.brand_id, v.day, v.user_id, v.batch_id, v.campaign_id, v.location
), day AS (
    UPDATE authcodes_uniquescannerrollup r SET scanned = true
      FROM late l
     WHERE r.brand_id = l.brand_id AND r.day = l.day AND r.user_id = l.user_id AND r.batch_id = l.batch_id
       AND r.campaign_id IS NOT DISTINCT FROM l.campaign_id AND r.location = l.location AND NOT r.scanned
)
UPDATE authcodes_uniquescanner k SET scanned = true
  FROM late l WHERE k.brand_id = l.brand_id AND k.user_id = l.user_id AND NOT k.scanned
