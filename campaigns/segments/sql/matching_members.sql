-- set: a part of the statements that evaluate segments. The accounts that fulfil `condition`, which
-- campaigns/segments/plan.py builds from typed conditions. Blocked members are in no segment; an erased customer's
-- account is blocked.
SELECT m.user_point_id AS account_id
  FROM user_points m
{joins}
 WHERE m.brand_id = %(brand_id)s::bigint AND m.status = 'active' AND m.user_point_id {among_accounts}
   AND ({condition})
