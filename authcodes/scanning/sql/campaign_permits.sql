-- hot: each scan. Part of code_snapshot.sql: whether the campaign of a batch lets its codes earn at the moment `{at}`.
-- The batch decides whether they earn while the campaign is not running.
(g.campaign_id IS NULL OR b.after_campaign = 'points' OR (
    g.is_active AND (g.starts_at IS NULL OR g.starts_at <= {at}) AND (g.ends_at IS NULL OR g.ends_at > {at})))
