-- hot: each request with an access token. Part of the statements that read a user anyway, as a condition: whether the
-- token's claims about `u`, a row of brands_user, are still valid. `epoch` is null if the request has no token, and -1
-- if another issuer signed it: accepted for customers of the brand `token_brand`, never for staff. `session` is null if
-- the token names none.
(
    {epoch}::int IS NULL
    OR u.session_epoch = {epoch}::int AND ({session}::uuid IS NULL OR EXISTS (
        SELECT 1 FROM brands_loginsession k WHERE k.family = {session}::uuid AND k.revoked_at IS NULL))
    OR {epoch}::int = -1 AND NOT (u.is_staff OR u.is_superuser OR EXISTS (
        SELECT 1 FROM brands_staffrole w WHERE w.user_id = u.id))
        AND (u.registered_brand_id = {token_brand}::bigint OR EXISTS (
            SELECT 1 FROM user_points p WHERE p.user_id = u.id AND p.brand_id = {token_brand}::bigint)))
