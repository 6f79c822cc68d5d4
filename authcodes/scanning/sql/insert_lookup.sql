-- hot: each look-up of a code. Records the look-up. Locks nothing.
INSERT INTO authcodes_codelookup (brand_id, auth_code_id, code, user_id, reason, looked_up_at)
VALUES (%(brand_id)s::bigint, %(code_id)s::bigint, %(code)s::text, %(user_id)s::bigint, %(reason)s::text,
        %(at)s::timestamptz)
