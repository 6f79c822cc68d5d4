-- check: every ledger entry against its account. Returns a Contradiction for each whose brand is not its account's.
SELECT 'ledger entry ' || t.loyalty_transaction_id AS subject, a.brand_id::text AS expected, t.brand_id::text AS actual
  FROM loyalty_transaction t
  JOIN user_points a USING (user_point_id)
 WHERE t.brand_id <> a.brand_id
