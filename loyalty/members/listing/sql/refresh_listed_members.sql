-- set: every minute. Updates the sort keys of members whose account or ledger changed since `since`, found by the BRIN
-- indexes on that moment, or who have scanned since (`seen`, from authcodes). Does not write unchanged rows. Locks the
-- rows that it changes, in the order of accounts. docs/decisions/046-a-customers-page.md
WITH seen AS ({seen}
), touched AS (
    SELECT account.user_point_id, NULL::timestamptz AS seen_at
      FROM user_points AS account
     WHERE account."updatedAt" >= %(since)s::timestamptz
    UNION ALL
    SELECT account.user_point_id, seen.at
      FROM seen
      JOIN user_points AS account ON account.user_id = seen.user_id AND account.brand_id = seen.brand_id
    UNION ALL
    -- Only what the member did, not what staff or the passing of time did.
    SELECT user_point_id, "createdAt"
      FROM loyalty_transaction
     WHERE "createdAt" >= %(since)s::timestamptz AND reason IN ('earned', 'redeemed', 'pending')
       AND reason_id NOT LIKE ALL (ARRAY['adjust:%%', 'opening:%%', 'redeem-undo:%%'])
), changed AS (
    SELECT user_point_id, max(seen_at) AS seen_at FROM touched GROUP BY user_point_id
)
INSERT INTO loyalty_listedmember AS listed (account_id, brand_id, name, email, points, spent, last_seen_at)
SELECT account.user_point_id, account.brand_id,
       lower(coalesce(nullif(btrim(concat_ws(' ', coalesce(account.first_name, customer.first_name),
                                             coalesce(account.last_name, customer.last_name))), ''), customer.email)),
       lower(customer.email), account.points, account.points_redeemed - account.points_returned,
       greatest(account.enrolled_at, changed.seen_at)
  FROM changed
  JOIN user_points AS account USING (user_point_id)
  JOIN brands_user AS customer ON customer.id = account.user_id
 ORDER BY account.user_point_id
    ON CONFLICT (account_id) DO UPDATE
   SET brand_id = excluded.brand_id, name = excluded.name, email = excluded.email, points = excluded.points,
       spent = excluded.spent, last_seen_at = greatest(listed.last_seen_at, excluded.last_seen_at)
 WHERE (listed.brand_id, listed.name, listed.email, listed.points, listed.spent)
       IS DISTINCT FROM (excluded.brand_id, excluded.name, excluded.email, excluded.points, excluded.spent)
    OR listed.last_seen_at < excluded.last_seen_at
