-- set: each import of members. Inserts a user for each address that has none: without password, names or brand. Waits
-- for transactions that add the same addresses. Returns nothing.
INSERT INTO brands_user
       (password, is_superuser, is_staff, is_active, email, first_name, last_name, date_joined)
SELECT '!' || replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), false, false, true, a.email, '', '',
       %(at)s::timestamptz
  FROM unnest(%(addresses)s::text[]) AS a (email)
 ORDER BY a.email
    ON CONFLICT (email) DO NOTHING
