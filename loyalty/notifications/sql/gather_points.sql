-- hot: each accrual of a customer who is notified. Opens a notification about points, or adds the points to the one
-- that is open. Of two concurrent accruals one opens it, and the other waits for it and is added. A closed notification
-- is no conflict, so the next accrual opens another. Returns Gathered. Locks the open notification.
INSERT INTO loyalty_notification AS n
       (brand_id, user_id, template, key, payload, covers, is_test, opened_at)
VALUES (%(brand_id)s::bigint, %(user_id)s::bigint, %(template)s::text, '', %(payload)s::jsonb, %(covers)s::jsonb,
        false, %(at)s::timestamptz)
ON CONFLICT (brand_id, user_id, template) WHERE key = '' AND closed_at IS NULL DO UPDATE
   SET covers = n.covers || excluded.covers,
       payload = CASE WHEN (excluded.payload->>'transaction_id')::bigint >= (n.payload->>'transaction_id')::bigint
                      THEN excluded.payload ELSE n.payload END
                 || jsonb_build_object(
                        'points_earned', (n.payload->>'points_earned')::numeric
                                         + (excluded.payload->>'points_earned')::numeric,
                        'accruals', (n.payload->>'accruals')::int + 1)
RETURNING n.id AS notification_id, jsonb_array_length(n.covers) = 1 AS is_new
