"""Things that milestones gave by themselves, without a code: they wait for their winners to claim them."""

from django.db import migrations

# Not what was paid or is being paid in points, when the milestone still had some.
WAIT = """
    UPDATE campaigns_rewardclaim c SET status = 'available', claimed_at = NULL
      FROM campaigns_milestone s
      JOIN campaigns_campaign g ON g.campaign_id = s.campaign_id
     WHERE s.milestone_id = c.milestone_id AND s.auto_claim AND s.reward_points = 0 AND c.status = 'claimed'
       AND NOT EXISTS (
           SELECT 1 FROM user_points a JOIN loyalty_redemption r ON r.user_point_id = a.user_point_id
            WHERE a.user_id = c.user_id AND a.brand_id = g.brand_id AND r.milestone_id = s.milestone_id)
       AND NOT EXISTS (
           SELECT 1 FROM user_points a JOIN loyalty_transaction t ON t.user_point_id = a.user_point_id
            WHERE a.user_id = c.user_id AND a.brand_id = g.brand_id AND t.reason_id = 'milestone:' || s.milestone_id)
       AND NOT EXISTS (
           SELECT 1 FROM loyalty_event e
            WHERE e.brand_id = g.brand_id AND e.detail_type = 'reward-claimed' AND e.status IN ('pending', 'dead')
              AND (e.detail->'payload'->>'milestone_id')::bigint = s.milestone_id
              AND (e.detail->'arguments'->>'user_id')::bigint = c.user_id)
"""


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0005_only_points_come_by_themselves"),
        ("loyalty", "0016_forgotten_passwords"),
    ]

    operations = [migrations.RunSQL(WAIT, migrations.RunSQL.noop)]
