-- check: every referral that gave points against the ledger, and every referral entry against the referrals. Returns a
-- Contradiction for each referral whose entries are not its points, and for each entry of a referral that does not
-- exist.
SELECT coalesce('referral ' || f.id, 'entry ' || t.loyalty_transaction_id) AS subject,
       coalesce(format('%%s on %%s', f.points, f.account), 'none') AS expected,
       coalesce(format('%%s on %%s', t.points_earned, t.user_point_id), 'none') AS actual
  FROM (SELECT id, side.points, side.account
          FROM loyalty_referral r
         CROSS JOIN LATERAL (VALUES (r.referrer_id, r.referrer_points), (r.friend_id, r.friend_points))
                    AS side (account, points)
         WHERE side.points > 0) f
  FULL JOIN (SELECT * FROM loyalty_transaction WHERE reason_id LIKE 'referral:%%') t
         ON t.user_point_id = f.account AND t.reason_id = 'referral:' || f.id AND t.reason = 'earned'
 WHERE t.points_earned IS DISTINCT FROM f.points
