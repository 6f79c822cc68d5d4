-- set: a part of the statements that evaluate segments. How many actions earned points for each account after `after`.
-- The earning rules' "days since points were last earned" counts the same entries, and those of accounts that were merged
-- into this one (campaigns/accrual/sql/fetch_snapshots.sql).
SELECT t.user_point_id AS account_id, count(*) AS n
  FROM loyalty_transaction t
 WHERE t.brand_id = %(brand_id)s::bigint AND t.reason IN ('earned', 'pending')
   AND t.reason_id !~ '{no_actions}' AND t."createdAt" > {after}
   AND t.user_point_id {among_accounts}
 GROUP BY t.user_point_id
