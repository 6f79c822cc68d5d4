-- check: every transfer against the ledger, and every transfer entry against the transfers. Returns a Contradiction for
-- each transfer whose two entries are not its points, and for each entry of a transfer that does not exist.
SELECT coalesce('transfer ' || f.id, 'entry ' || t.loyalty_transaction_id) AS subject,
       coalesce(format('%%s on %%s', f.points, f.account), 'none') AS expected,
       coalesce(format('%%s on %%s', t.points_earned + t.points_redeemed, t.user_point_id), 'none') AS actual
  FROM (SELECT id, points, sender_id AS account, 'redeemed' AS reason FROM loyalty_pointtransfer
         UNION ALL
        SELECT id, points, receiver_id, 'earned' FROM loyalty_pointtransfer) f
  FULL JOIN (SELECT * FROM loyalty_transaction WHERE reason_id LIKE 'transfer:%%') t
         ON t.user_point_id = f.account AND t.reason_id = 'transfer:' || f.id AND t.reason = f.reason
 WHERE (t.points_earned + t.points_redeemed) IS DISTINCT FROM f.points
