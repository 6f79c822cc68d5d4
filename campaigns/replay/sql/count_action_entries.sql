-- set: each replay, once. Counts the ledger entries of actions of a brand's members between two moments, whether or not
-- their events are still stored. Returns one number. Locks nothing.
SELECT count(*) AS number
  FROM loyalty_transaction t
 WHERE t.brand_id = %(brand_id)s::bigint AND t."createdAt" >= %(since)s::timestamptz AND t."createdAt" < %(until)s::timestamptz
   AND t.reason IN ('earned', 'pending') AND t.reason_id !~ '{no_actions}'
