-- set: each import of members. Credits the opening balances of these accounts of one brand, parallel arrays, once per
-- reason_id. Settles the points that they owe, and raises accounts to the levels that they reach: levels never go down.
-- Returns OpeningCredit of the new ones. Locks the accounts, which must be new or locked already.
WITH entry AS (
    INSERT INTO loyalty_transaction
           (user_point_id, points_earned, points_redeemed, points_expired, reason, reason_id, note,
            "createdAt", "updatedAt")
    SELECT a.account, a.points, 0, 0, 'earned', %(reason_id)s::text, %(note)s::text,
           %(at)s::timestamptz, %(at)s::timestamptz
      FROM unnest(%(accounts)s::bigint[], %(points)s::numeric[]) AS a (account, points)
     ORDER BY a.account
        ON CONFLICT (user_point_id, reason_id) DO NOTHING
    RETURNING loyalty_transaction_id, user_point_id, points_earned
), reached AS (
    SELECT e.*, least(m.points_owed, e.points_earned) AS settled, m.current_level AS level_before,
           coalesce((SELECT l.name FROM loyalty_brandlevel l
                      WHERE l.brand_id = m.brand_id AND l.threshold <= {lifetime} - m.points_before_period + e.points_earned
                        AND l.threshold > coalesce((SELECT held.threshold FROM loyalty_brandlevel held
                                                     WHERE held.brand_id = m.brand_id AND held.name = m.current_level),
                                                   '-Infinity'::numeric)
                      ORDER BY l.threshold DESC LIMIT 1), m.current_level) AS level
      FROM entry e
      JOIN user_points m USING (user_point_id)
), settlement AS (
    INSERT INTO loyalty_transaction
           (user_point_id, points_earned, points_redeemed, points_expired, points_reversed, reason, reason_id, note,
            "createdAt", "updatedAt")
    SELECT user_point_id, 0, 0, 0, settled, 'reversed', 'owed:' || loyalty_transaction_id, %(settlement_note)s::text,
           %(at)s::timestamptz, %(at)s::timestamptz
      FROM reached WHERE settled > 0
)
UPDATE user_points m
   SET points = m.points + r.points_earned - r.settled, points_earned = m.points_earned + r.points_earned,
       points_reversed = m.points_reversed + r.settled, points_owed = m.points_owed - r.settled, current_level = r.level,
       "updatedAt" = %(at)s::timestamptz
  FROM reached r
 WHERE m.user_point_id = r.user_point_id
RETURNING m.user_point_id AS account, m.user_id, r.loyalty_transaction_id, r.points_earned AS points, m.points AS balance,
          {lifetime} AS lifetime, m.current_level, r.level_before, {lifetime} - m.points_before_period AS counted
