"""Proves that balances, ledger and events tell the same story; changes nothing."""

from django.conf import settings

# Each statement returns one row per contradiction: what it is about, what was expected, what was found.
CHECKS = {
    "account does not equal its ledger lines": """
        SELECT 'account ' || p.user_point_id,
               format('earned %s, redeemed %s, expired %s', coalesce(t.earned, 0), coalesce(t.redeemed, 0),
                      coalesce(t.expired, 0)),
               format('earned %s, redeemed %s, expired %s', p.points_earned, p.points_redeemed, p.points_expired)
          FROM user_points p
          LEFT JOIN (SELECT user_point_id, sum(points_earned) AS earned, sum(points_redeemed) AS redeemed,
                            sum(points_expired) AS expired
                       FROM loyalty_transaction GROUP BY user_point_id) t USING (user_point_id)
         WHERE (p.points_earned, p.points_redeemed, p.points_expired)
               IS DISTINCT FROM (coalesce(t.earned, 0), coalesce(t.redeemed, 0), coalesce(t.expired, 0))
    """,
    "balance is not earned minus redeemed minus expired": """
        SELECT 'account ' || user_point_id, (points_earned - points_redeemed - points_expired)::text, points::text
          FROM user_points WHERE points <> points_earned - points_redeemed - points_expired OR points < 0
    """,
    "points that came back are not those of the ledger": """
        SELECT 'account ' || p.user_point_id, coalesce(t.returned, 0)::text, p.points_returned::text
          FROM user_points p
          LEFT JOIN (SELECT user_point_id, sum(points_earned) AS returned
                       FROM loyalty_transaction WHERE reason = 'earned' AND reason_id LIKE 'redeem-undo:%'
                      GROUP BY user_point_id) t USING (user_point_id)
         WHERE p.points_returned <> coalesce(t.returned, 0)
    """,
    "redemption is not what the ledger says": """
        SELECT 'redemption ' || r.id,
               format('spent %s, back %s', r.cost, CASE r.status WHEN 'cancelled' THEN r.cost END),
               format('spent %s, back %s', s.points_redeemed, b.points_earned)
          FROM loyalty_redemption r
          LEFT JOIN loyalty_transaction s ON s.user_point_id = r.user_point_id AND s.reason_id = 'redeem:' || r.id
          LEFT JOIN loyalty_transaction b ON b.user_point_id = r.user_point_id AND b.reason_id = 'redeem-undo:' || r.id
         WHERE r.cost > 0
           AND (s.points_redeemed IS DISTINCT FROM r.cost
                OR b.points_earned IS DISTINCT FROM CASE r.status WHEN 'cancelled' THEN r.cost END)
    """,
    "event is done but its ledger line is missing": """
        SELECT 'event ' || e.event_id, 'line ' || (e.outcome->>'transaction_id'), 'none'
          FROM events_event e
         WHERE e.status = 'done' AND e.outcome->>'transaction_id' IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM loyalty_transaction t
                            WHERE t.loyalty_transaction_id = (e.outcome->>'transaction_id')::bigint)
    """,
    # Of events whose consequences are not forgotten yet: neither for their age, nor by a shorter setting until lately.
    "event is done but did not publish balance-changed and notify once each": f"""
        SELECT 'event ' || e.event_id, '1 and 1',
               count(*) FILTER (WHERE f.detail_type = 'balance-changed') || ' and '
                   || count(*) FILTER (WHERE f.detail_type = 'notify')
          FROM events_event e
          LEFT JOIN events_event f ON f.brand_id = e.brand_id AND f.detail_type IN ('balance-changed', 'notify')
                AND f.detail->'payload'->>'cause' = e.event_id::text
         WHERE e.status = 'done' AND e.outcome->>'transaction_id' IS NOT NULL
           AND e.finished_at >= greatest(now() - make_interval(days => {settings.EVENT_LOG_DAYS}),
                                         (SELECT min(created_at) FROM events_event
                                           WHERE detail_type IN ('balance-changed', 'notify')))
         GROUP BY e.id, e.event_id
        HAVING count(*) FILTER (WHERE f.detail_type = 'balance-changed') <> 1
            OR count(*) FILTER (WHERE f.detail_type = 'notify') <> 1
    """,  # noqa: S608 - a number of ours
}
