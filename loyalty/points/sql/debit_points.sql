-- hot: points that staff or a hub deduct. Checks the balance under the account's lock: if it is too low, there is no
-- entry and no row. Returns Credit. Locks the account.
WITH locked AS (
    SELECT user_point_id FROM user_points
     WHERE user_point_id = %(account)s::bigint AND points >= %(points)s::numeric
       FOR NO KEY UPDATE
), entry AS (
    INSERT INTO loyalty_transaction
           (user_point_id, points_earned, points_redeemed, points_expired, reason, reason_id, note,
            "createdAt", "updatedAt")
    SELECT user_point_id, 0, %(points)s::numeric, 0, 'redeemed', %(reason_id)s::text, %(note)s::text,
           %(at)s::timestamptz, %(at)s::timestamptz
      FROM locked
    ON CONFLICT (user_point_id, reason_id) DO NOTHING
    RETURNING loyalty_transaction_id
)
UPDATE user_points a
   SET points = points - %(points)s::numeric,
       points_redeemed = points_redeemed + %(points)s::numeric,
       "updatedAt" = %(at)s::timestamptz
  FROM entry
 WHERE user_point_id = %(account)s::bigint
RETURNING entry.loyalty_transaction_id, points AS balance, {lifetime} AS lifetime, current_level
