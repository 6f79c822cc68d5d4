-- hot: each order that a shop reports. Assigns the order to the customer, unless it has a customer already. Of two
-- concurrent reports the second waits for the first to commit, and then sees its row. Returns the customer's id; no row
-- if the order has one already.
INSERT INTO loyalty_creditedorder (brand_id, order_id, user_id, amount, currency, items, event_id, credited_at)
VALUES (%(brand_id)s::bigint, %(order_id)s::text, %(user_id)s::bigint, %(amount)s::numeric, %(currency)s::text,
        %(items)s::jsonb, %(event_id)s::uuid, %(at)s::timestamptz)
ON CONFLICT DO NOTHING
RETURNING user_id
