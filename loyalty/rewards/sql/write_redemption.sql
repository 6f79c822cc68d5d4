-- hot: each redemption. Writes stock, ledger, balance, redemption and events: all depend on `redeemable`, which is
-- empty if no stock or partner code is left, and then there is no row. Locks the reward if its stock is limited, and
-- the partner code that it takes, skipping locked ones; the account is locked already.
WITH taken_code AS (
    UPDATE loyalty_poolcode SET redemption_id = %(redemption_id)s::bigint
     WHERE redemption_id IS NULL
       AND id = (SELECT id FROM loyalty_poolcode
                  WHERE %(from_pool)s::boolean AND reward_id = %(reward_id)s::bigint AND redemption_id IS NULL
                    AND (expires_at IS NULL OR expires_at > %(at)s::timestamptz)
                  ORDER BY expires_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING expires_at
), taken_stock AS (
    UPDATE loyalty_reward SET stock = stock - 1
     WHERE %(limited)s::boolean AND id = %(reward_id)s::bigint AND stock > 0
    RETURNING id
), redeemable AS (
    SELECT %(account)s::bigint AS account
     WHERE (NOT %(limited)s::boolean OR EXISTS (SELECT 1 FROM taken_stock))
       AND (NOT %(from_pool)s::boolean OR EXISTS (SELECT 1 FROM taken_code))
), inserted_entry AS (
    INSERT INTO loyalty_transaction
           (user_point_id, points_earned, points_redeemed, points_expired, reason, reason_id, note, "createdAt",
            "updatedAt")
    SELECT account, 0, %(cost)s::numeric, 0, 'redeemed', %(reason_id)s::text, %(note)s::text, %(at)s::timestamptz,
           %(at)s::timestamptz
      FROM redeemable
), moved_balance AS (
    UPDATE user_points
       SET points = points - %(cost)s::numeric, points_redeemed = points_redeemed + %(cost)s::numeric,
           "updatedAt" = %(at)s::timestamptz
      FROM redeemable
     WHERE user_point_id = redeemable.account
), inserted_redemption AS (
    INSERT INTO loyalty_redemption
           (id, brand_id, user_point_id, reward_id, name, cost, balance_after, code, request_key, status,
            created_at, expires_at)
    SELECT %(redemption_id)s::bigint, %(brand_id)s::bigint, account, %(reward_id)s::bigint, %(name)s::text,
           %(cost)s::numeric, %(balance_after)s::numeric, %(code)s::text, %(request_key)s::uuid, 'issued',
           %(at)s::timestamptz, least(%(expires_at)s::timestamptz, (SELECT expires_at FROM taken_code))
      FROM redeemable
), inserted_events AS (
    {insert_events}
)
SELECT account FROM redeemable
