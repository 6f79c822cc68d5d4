-- hot: each release of pending points that are due. Credits what is left of them, once: a second release finds nothing
-- left, and the entry's reason is unique. Settles the points that the account owes first. Returns Release; no row if
-- nothing is due, the member is blocked, or the programme is switched off. Locks the account and the pending points.
WITH due AS (
    SELECT p.entry_id, p.user_point_id, p.remaining, t.reason_id, a.points_owed
      FROM user_points a
      JOIN brands_brand b ON b.id = a.brand_id AND b.loyalty_active
      JOIN loyalty_pendingpoints p ON p.user_point_id = a.user_point_id
      JOIN loyalty_transaction t ON t.loyalty_transaction_id = p.entry_id
     WHERE a.user_point_id = %(account)s::bigint AND a.status = 'active' AND p.entry_id = %(entry)s::bigint
       AND p.remaining > 0 AND p.release_at <= %(at)s::timestamptz
       FOR NO KEY UPDATE OF a, p
), locked AS (
    SELECT user_point_id, least(points_owed, remaining) AS settled, remaining FROM due
), ended AS (
    UPDATE loyalty_pendingpoints p SET remaining = 0 FROM due WHERE p.entry_id = due.entry_id
), entry AS (
    INSERT INTO loyalty_transaction
           (user_point_id, points_earned, points_redeemed, points_expired, points_cleared, reason, reason_id, note,
            "createdAt", "updatedAt")
    SELECT user_point_id, remaining, 0, 0, remaining, 'released', 'release:' || entry_id, %(note)s::text,
           %(at)s::timestamptz, %(at)s::timestamptz
      FROM due
    RETURNING loyalty_transaction_id
), settlement AS (
    {insert_settlement}
)
UPDATE user_points a
   SET points = a.points + locked.remaining - locked.settled, points_earned = a.points_earned + locked.remaining,
       points_pending = a.points_pending - locked.remaining,
       points_reversed = a.points_reversed + locked.settled, points_owed = a.points_owed - locked.settled,
       "updatedAt" = %(at)s::timestamptz
  FROM entry, locked, due
 WHERE a.user_point_id = locked.user_point_id
RETURNING entry.loyalty_transaction_id, a.points AS balance, {lifetime} AS lifetime, a.current_level,
          locked.remaining AS points, a.user_id, a.brand_id, due.reason_id
