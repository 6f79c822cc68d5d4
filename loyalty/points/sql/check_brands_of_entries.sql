-- check: every ledger entry against its account. Returns Contradiction for each that is another brand's than its account.
SELECT 'ledger entry ' || t.loyalty_transaction_id AS subject, a.brand_id::text AS expected, t.brand_id::text AS actual
  FROM loyalty_transaction t
  JOIN user_points a USING (user_point_id)
 WHERE t.brand_id <> a.brand_id
