-- hot: each returned order whose points are pending. Cancels the points that the return takes; no row if fewer are
-- left. Returns the new entry's id. Locks the pending points; the account is locked already.
WITH cut AS (
    UPDATE loyalty_pendingpoints SET remaining = remaining - %(points)s::numeric
     WHERE entry_id = %(entry)s::bigint AND remaining >= %(points)s::numeric
    RETURNING user_point_id
), entry AS (
    INSERT INTO loyalty_transaction
           (user_point_id, points_earned, points_redeemed, points_expired, points_cleared, reason, reason_id, note,
            "createdAt", "updatedAt")
    SELECT user_point_id, 0, 0, 0, %(points)s::numeric, 'cancelled', %(reason_id)s::text, %(note)s::text,
           %(at)s::timestamptz, %(at)s::timestamptz
      FROM cut
    RETURNING loyalty_transaction_id, user_point_id
)
UPDATE user_points a
   SET points_pending = a.points_pending - %(points)s::numeric, "updatedAt" = %(at)s::timestamptz
  FROM entry
 WHERE a.user_point_id = entry.user_point_id
RETURNING entry.loyalty_transaction_id
