-- set: each merge of two accounts, and each undo. Moves totals from the account `source` to the account `target`: each
-- side gets an entry with all of them, negative on the source, whose details have what earning rules need about the
-- past. Points that the target then owes are settled from its balance. The caller has locked both accounts and checked
-- that the source has these totals. Returns CarriedSide for each.
WITH sides AS (
    SELECT user_point_id, CASE WHEN user_point_id = %(target)s::bigint THEN 1 ELSE -1 END AS sign,
           CASE WHEN user_point_id = %(target)s::bigint
                THEN least(points_owed + %(owed)s::numeric, points + %(points)s::numeric) ELSE 0 END AS settled
      FROM user_points
     WHERE user_point_id = ANY (ARRAY[%(source)s::bigint, %(target)s::bigint])
     ORDER BY user_point_id
       FOR NO KEY UPDATE
), entries AS (
    INSERT INTO loyalty_transaction
           (user_point_id, points_earned, points_redeemed, points_expired, points_reversed, points_pending, reason,
            reason_id, note, details, "createdAt", "updatedAt")
    SELECT user_point_id, sign * %(earned)s::numeric, sign * %(redeemed)s::numeric, sign * %(expired)s::numeric,
           sign * %(reversed)s::numeric, sign * %(pending)s::numeric, 'merged',
           CASE sign WHEN 1 THEN 'merge-in:' ELSE 'merge-out:' END || %(reason)s::text,
           CASE sign WHEN 1 THEN %(target_note)s::text ELSE %(source_note)s::text END,
           jsonb_build_object('lifetime', sign * %(lifetime)s::numeric, 'received', sign * %(received)s::numeric,
                              'returned', sign * %(returned)s::numeric, 'owed', sign * %(owed)s::numeric,
                              'orders', sign * %(orders)s::bigint, 'scans', sign * %(scans)s::bigint,
                              'last_at', %(last_at)s::timestamptz),
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
   SET points = a.points + sides.sign * %(points)s::numeric - sides.settled,
       points_earned = a.points_earned + sides.sign * %(earned)s::numeric,
       points_redeemed = a.points_redeemed + sides.sign * %(redeemed)s::numeric,
       points_expired = a.points_expired + sides.sign * %(expired)s::numeric,
       points_reversed = a.points_reversed + sides.sign * %(reversed)s::numeric + sides.settled,
       points_returned = a.points_returned + sides.sign * %(returned)s::numeric,
       points_received = a.points_received + sides.sign * %(received)s::numeric,
       points_pending = a.points_pending + sides.sign * %(pending)s::numeric,
       points_owed = a.points_owed + sides.sign * %(owed)s::numeric - sides.settled,
       "updatedAt" = %(at)s::timestamptz
  FROM sides JOIN entries USING (user_point_id)
 WHERE a.user_point_id = sides.user_point_id
RETURNING a.user_point_id AS account, a.user_id, a.points AS balance, {lifetime} AS lifetime, a.current_level, sides.settled
