-- hot: each scan, login and registration at a brand. Returns the customer's account at the brand, and creates it if
-- there is none; a new one begins in the lowest level if that level requires no points. For a new one it publishes the
-- given event, if a webhook of the brand subscribes to its type. Returns Enrolment. Locks the account.
WITH account AS (
    INSERT INTO user_points
           (user_id, brand_id, points, points_earned, points_redeemed, points_expired, current_level, status,
            enrolled_at, "updatedAt")
    SELECT %(user_id)s::bigint, %(brand_id)s::bigint, 0, 0, 0, 0,
           COALESCE((SELECT name FROM loyalty_brandlevel
                      WHERE brand_id = %(brand_id)s::bigint AND threshold <= 0 ORDER BY threshold DESC LIMIT 1), ''),
           'active', %(at)s::timestamptz, %(at)s::timestamptz
    ON CONFLICT (user_id, brand_id) DO UPDATE SET user_id = excluded.user_id
    RETURNING user_point_id, xmax = 0 AS is_new
), subscribed AS (
    SELECT user_point_id FROM account
     WHERE is_new AND EXISTS (SELECT FROM loyalty_webhookendpoint w
                               WHERE w.brand_id = %(brand_id)s::bigint AND w.state = 'active'
                                 AND w.types @> ARRAY[%(webhook_type)s::varchar])
), published AS (
    {insert_events}
    RETURNING id
)
SELECT user_point_id AS account, EXISTS (SELECT FROM published) AS is_published FROM account
