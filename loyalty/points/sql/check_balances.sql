-- check: every account's own figures. Returns a Contradiction for each whose balance is negative, or is not the earned
-- points less the redeemed, expired and reversed ones; and for each that owes points and has some.
SELECT 'account ' || user_point_id AS subject,
       (points_earned - points_redeemed - points_expired - points_reversed)::text AS expected,
       format('%%s, owed %%s', points, points_owed) AS actual
  FROM user_points
 WHERE points <> points_earned - points_redeemed - points_expired - points_reversed OR points < 0
    OR points_owed < 0 OR (points_owed > 0 AND points > 0)
