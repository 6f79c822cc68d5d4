-- hot: part of fetch_code.sql. The language of the customer `{user_id}` at the code's brand: their own choice, else the
-- brand's; null if the brand sets none. Two index look-ups. Locks nothing.
COALESCE((SELECT NULLIF(o.language, '') FROM loyalty_notificationpreference o
           WHERE o.brand_id = c.brand_id AND o.user_id = {user_id} LIMIT 1),
         (SELECT s.language FROM loyalty_notificationsettings s WHERE s.brand_id = c.brand_id LIMIT 1))
