-- hot: each cancelled redemption. As credit_points.sql, but returned points were earned before: they count for the
-- balance, not for levels. Returns Credit. Locks the account.
WITH locked AS (
    SELECT user_point_id, least(points_owed, %(points)s::numeric) AS settled FROM user_points
     WHERE user_point_id = %(account)s::bigint
       FOR NO KEY UPDATE
), entry AS (
    INSERT INTO loyalty_transaction
           (user_point_id, points_earned, points_redeemed, points_expired, reason, reason_id, note,
            "createdAt", "updatedAt")
    SELECT user_point_id, %(points)s::numeric, 0, 0, 'earned', %(reason_id)s::text, %(note)s::text,
           %(at)s::timestamptz, %(at)s::timestamptz
      FROM locked
    ON CONFLICT (user_point_id, reason_id) DO NOTHING
    RETURNING loyalty_transaction_id
), settlement AS (
    {insert_settlement}
)
UPDATE user_points a
   SET points = a.points + %(points)s::numeric - locked.settled,
       points_earned = a.points_earned + %(points)s::numeric,
       points_returned = a.points_returned + %(points)s::numeric,
       points_reversed = a.points_reversed + locked.settled, points_owed = a.points_owed - locked.settled,
       "updatedAt" = %(at)s::timestamptz
  FROM entry, locked
 WHERE a.user_point_id = locked.user_point_id
RETURNING entry.loyalty_transaction_id, a.points AS balance, {lifetime} AS lifetime, a.current_level
