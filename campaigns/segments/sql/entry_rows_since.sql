-- set: a part of the statements that evaluate segments. The account of each action that earned after `after`, as in
-- entries_since.sql.
SELECT t.user_point_id AS account_id
  FROM loyalty_transaction t
 WHERE t.brand_id = %(brand_id)s::bigint AND t.reason IN ('earned', 'pending')
   AND t.reason_id !~ '{no_actions}' AND t."createdAt" > {after}
   AND t.user_point_id {among_accounts}
