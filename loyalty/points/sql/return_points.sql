-- hot: each cancelled redemption. As credit_points.sql, but points that come back were earned before: they count for the
-- balance, not for levels. Returns Credit. Locks the account.
WITH entry AS (
    INSERT INTO loyalty_transaction
           (user_point_id, points_earned, points_redeemed, points_expired, reason, reason_id, note,
            "createdAt", "updatedAt")
    VALUES (%(account)s::bigint, %(points)s::numeric, 0, 0, 'earned', %(reason_id)s::text, %(note)s::text,
            %(at)s::timestamptz, %(at)s::timestamptz)
    ON CONFLICT (user_point_id, reason_id) DO NOTHING
    RETURNING loyalty_transaction_id
)
UPDATE user_points
   SET points = points + %(points)s::numeric, points_earned = points_earned + %(points)s::numeric,
       points_returned = points_returned + %(points)s::numeric, "updatedAt" = %(at)s::timestamptz
  FROM entry
 WHERE user_point_id = %(account)s::bigint
RETURNING entry.loyalty_transaction_id, points AS balance, points_earned - points_returned AS lifetime, current_level
