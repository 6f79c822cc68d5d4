-- set: each import of members. Sets external ids on accounts that have none, from parallel arrays. Locks the accounts.
UPDATE user_points m
   SET external_id = a.external_id, "updatedAt" = %(at)s::timestamptz
  FROM unnest(%(accounts)s::bigint[], %(external_ids)s::text[]) AS a (account, external_id)
 WHERE m.user_point_id = a.account AND m.external_id = ''
