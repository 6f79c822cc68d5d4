-- check: every account in itself. Returns Contradiction for each whose balance is negative, or is not what it earned less
-- what it redeemed and what expired.
SELECT 'account ' || user_point_id AS about,
       (points_earned - points_redeemed - points_expired)::text AS expected,
       points::text AS actual
  FROM user_points
 WHERE points <> points_earned - points_redeemed - points_expired OR points < 0
