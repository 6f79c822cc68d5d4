-- hot: part of each statement that credits one account. Inserts the entry for the points owed that the new points
-- settle; its reason names the entry of the new points.
INSERT INTO loyalty_transaction
       (user_point_id, points_earned, points_redeemed, points_expired, points_reversed, reason, reason_id, note,
        "createdAt", "updatedAt")
SELECT locked.user_point_id, 0, 0, 0, locked.settled, 'reversed', 'owed:' || entry.loyalty_transaction_id,
       %(settlement_note)s::text, %(at)s::timestamptz, %(at)s::timestamptz
  FROM entry, locked WHERE locked.settled > 0
