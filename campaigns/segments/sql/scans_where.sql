-- set: a part of the statements that evaluate segments. The customer of each accepted scan that fulfils `condition`.
SELECT s.user_id
  FROM authcodes_scan s
 WHERE s.brand_id = %(brand_id)s::bigint AND s.outcome = 'success' AND s.user_id {among_users}
   AND {condition}
