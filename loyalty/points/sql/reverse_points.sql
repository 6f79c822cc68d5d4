-- hot: each returned order. Takes back points that the order gave: from the balance as far as it reaches; the remainder
-- is owed. If the balance is empty there is no entry, and `loyalty_transaction_id` is NULL. Returns Reversal. Locks the
-- account.
WITH locked AS (
    SELECT user_point_id, least(points, %(points)s::numeric) AS taken FROM user_points
     WHERE user_point_id = %(account)s::bigint
       FOR NO KEY UPDATE
), entry AS (
    INSERT INTO loyalty_transaction
           (user_point_id, points_earned, points_redeemed, points_expired, points_reversed, reason, reason_id, note,
            "createdAt", "updatedAt")
    SELECT user_point_id, 0, 0, 0, taken, 'reversed', %(reason_id)s::text, %(note)s::text, %(at)s::timestamptz,
           %(at)s::timestamptz
      FROM locked WHERE taken > 0
    RETURNING loyalty_transaction_id
)
UPDATE user_points a
   SET points = a.points - locked.taken, points_reversed = a.points_reversed + locked.taken,
       points_owed = a.points_owed + %(points)s::numeric - locked.taken, "updatedAt" = %(at)s::timestamptz
  FROM locked LEFT JOIN entry ON true
 WHERE a.user_point_id = locked.user_point_id
RETURNING entry.loyalty_transaction_id, a.points AS balance, {lifetime} AS lifetime, a.current_level,
          locked.taken, a.points_owed AS owed
