-- hot: each scan by a customer of a brand with earning rules. Part of code_snapshot.sql, with `m` for the customer's
-- account and `c` for the code: what most rules need about a member. A JSON array of the name of the current level, the
-- brand's levels and what rules with limits have given the member. Locks nothing.
CASE WHEN e.version IS NOT NULL THEN json_build_array(
    coalesce(m.current_level, ''),
    (SELECT json_agg(json_build_array(v.name, v.threshold::text, v.scan_reward_type, v.scan_reward_value::text)
                     ORDER BY v.threshold)
       FROM loyalty_brandlevel v WHERE v.brand_id = c.brand_id),
    (SELECT json_agg(json_build_array(x.rule_id, x.period, x.started, x.points::text, x.events))
       FROM campaigns_earningruleuse x WHERE x.account_id = m.user_point_id))
END
