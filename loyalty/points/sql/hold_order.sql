-- hot: each order that a shop reports. Makes the order the customer's, unless it is somebody's already. Of two at once the
-- second waits for the first to commit, and sees its row then. Returns the customer's id; nothing where the order has a row.
INSERT INTO loyalty_creditedorder (brand_id, order_id, user_id, amount, currency, items, event_id, credited_at)
VALUES (%(brand_id)s::bigint, %(order_id)s::text, %(user_id)s::bigint, %(amount)s::numeric, %(currency)s::text,
        %(items)s::jsonb, %(event_id)s::uuid, %(at)s::timestamptz)
ON CONFLICT DO NOTHING
RETURNING user_id
