-- hot: each transfer of points. Moves `points` from the account `sender` to the account `receiver`: an entry on either
-- side; the receiver's points settle first what it owes. Received points count for the balance, not for levels. The
-- caller has locked both accounts and checked that the sender has enough. Returns TransferSide for each.
WITH sides AS (
    SELECT user_point_id, user_point_id = %(receiver)s::bigint AS receives,
           CASE WHEN user_point_id = %(receiver)s::bigint THEN least(points_owed, %(points)s::numeric) ELSE 0 END AS settled
      FROM user_points
     WHERE user_point_id = ANY (ARRAY[%(sender)s::bigint, %(receiver)s::bigint])
     ORDER BY user_point_id
       FOR NO KEY UPDATE
), entries AS (
    INSERT INTO loyalty_transaction
           (user_point_id, points_earned, points_redeemed, points_expired, reason, reason_id, note,
            "createdAt", "updatedAt")
    SELECT user_point_id, CASE WHEN receives THEN %(points)s::numeric ELSE 0 END,
           CASE WHEN receives THEN 0 ELSE %(points)s::numeric END, 0,
           CASE WHEN receives THEN 'earned' ELSE 'redeemed' END, %(reason_id)s::text,
           CASE WHEN receives THEN %(receiver_note)s::text ELSE %(sender_note)s::text END,
           %(at)s::timestamptz, %(at)s::timestamptz
      FROM sides
    RETURNING loyalty_transaction_id, user_point_id
), settlement AS (
    INSERT INTO loyalty_transaction
           (user_point_id, points_earned, points_redeemed, points_expired, points_reversed, reason, reason_id, note,
            "createdAt", "updatedAt")
    SELECT user_point_id, 0, 0, 0, sides.settled, 'reversed', 'owed:' || entries.loyalty_transaction_id,
           %(settlement_note)s::text, %(at)s::timestamptz, %(at)s::timestamptz
      FROM sides JOIN entries USING (user_point_id) WHERE sides.settled > 0
)
UPDATE user_points a
   SET points = a.points + CASE WHEN sides.receives THEN %(points)s::numeric - sides.settled ELSE -%(points)s::numeric END,
       points_earned = a.points_earned + CASE WHEN sides.receives THEN %(points)s::numeric ELSE 0 END,
       points_received = a.points_received + CASE WHEN sides.receives THEN %(points)s::numeric ELSE 0 END,
       points_redeemed = a.points_redeemed + CASE WHEN sides.receives THEN 0 ELSE %(points)s::numeric END,
       points_reversed = a.points_reversed + sides.settled, points_owed = a.points_owed - sides.settled,
       "updatedAt" = %(at)s::timestamptz
  FROM sides JOIN entries USING (user_point_id)
 WHERE a.user_point_id = sides.user_point_id
RETURNING a.user_point_id AS account, a.user_id, entries.loyalty_transaction_id, a.points AS balance,
          {lifetime} AS lifetime, a.current_level
