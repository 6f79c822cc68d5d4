-- set: each chunk of the nightly run. For the given accounts, which must be locked, the balance beyond what was earned
-- since `retained_from` expires. The first points earned are the first spent, so that part of the balance is older,
-- whatever was earned and spent. Returned points keep their age, and so do those of merged accounts. Runs once per
-- reason_id. Returns Expired.
WITH due AS (
    SELECT a.user_point_id, least(a.points - coalesce(r.recent, 0), 99999999.99) AS amount
      FROM user_points a
      LEFT JOIN LATERAL (
           SELECT sum(t.points_earned) AS recent FROM loyalty_transaction t
            WHERE t.user_point_id = ANY (a.user_point_id || a.merged_from)
              AND t."createdAt" >= %(retained_from)s::timestamptz
              AND t.reason_id NOT LIKE 'redeem-undo:%%' AND t.reason <> 'merged') r ON true
     WHERE a.user_point_id = ANY (%(accounts)s::bigint[])
), inserted_entries AS (
    INSERT INTO loyalty_transaction
           (user_point_id, points_earned, points_redeemed, points_expired, reason, reason_id, note,
            "createdAt", "updatedAt")
    SELECT user_point_id, 0, 0, amount, 'expired', %(reason_id)s::text, %(note)s::text,
           %(at)s::timestamptz, %(at)s::timestamptz
      FROM due WHERE amount > 0
    ON CONFLICT (user_point_id, reason_id) DO NOTHING
    RETURNING user_point_id, points_expired, loyalty_transaction_id
)
UPDATE user_points a
   SET points = a.points - e.points_expired, points_expired = a.points_expired + e.points_expired,
       "updatedAt" = %(at)s::timestamptz
  FROM inserted_entries e
 WHERE a.user_point_id = e.user_point_id
RETURNING a.user_point_id AS account, a.user_id, a.points AS balance, a.current_level, e.points_expired AS points,
          e.loyalty_transaction_id
