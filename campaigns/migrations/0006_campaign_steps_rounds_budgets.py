"""Campaigns count money and products, have conditions and budgets, and can be repeated in rounds; joining earns."""

from decimal import Decimal

import core.moments
import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
from django.db import migrations, models

# A campaign has the row in which its budget is counted from the beginning; a budget that is set later counts what was paid
# before. Staff hear again when a budget that was raised is used up.
BUDGETS = """
CREATE FUNCTION keep_campaign_budget() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO campaigns_campaignbudget (campaign_id, brand_id) VALUES (NEW.campaign_id, NEW.brand_id)
        ON CONFLICT DO NOTHING;
    IF TG_OP = 'UPDATE' AND NEW.budget IS DISTINCT FROM OLD.budget THEN
        UPDATE campaigns_campaignbudget SET notified_at = NULL WHERE campaign_id = NEW.campaign_id;
        IF OLD.budget IS NULL THEN
            UPDATE campaigns_campaignbudget b SET points = coalesce((
                SELECT sum(coalesce(r.points, m.reward_points))
                  FROM campaigns_milestone m JOIN campaigns_rewardclaim r USING (milestone_id)
                 WHERE m.campaign_id = NEW.campaign_id), 0)
             WHERE b.campaign_id = NEW.campaign_id;
        END IF;
    END IF;
    RETURN NULL;
END $$;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION keep_campaign_budget() SET search_path = %I, pg_temp', current_schema());
END $$;
INSERT INTO campaigns_campaignbudget (campaign_id, brand_id) SELECT campaign_id, brand_id FROM campaigns_campaign;
CREATE TRIGGER campaign_budget AFTER INSERT OR UPDATE OF budget ON campaigns_campaign
    FOR EACH ROW EXECUTE FUNCTION keep_campaign_budget();
"""
# Joining is a kind of ours.
RULES_FOR_JOINING = """
DROP TRIGGER earning_rule_for_a_known_kind ON campaigns_earningrule;
CREATE TRIGGER earning_rule_for_a_known_kind BEFORE INSERT OR UPDATE OF brand_id, kind ON campaigns_earningrule
    FOR EACH ROW WHEN (NEW.kind NOT IN ('scan-auth', 'order-complete', 'log-user-profile-update', 'log-user-login', 'milestone',
                                        'member-welcome'))
    EXECUTE FUNCTION find_event_kind_of_rule();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0008_order_points_and_returns'),
        ('campaigns', '0005_event_kinds'),
    ]

    operations = [
        migrations.CreateModel(
            name='CampaignBudget',
            fields=[
                ('campaign', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='spent', serialize=False, to='campaigns.campaign')),
                ('points', models.DecimalField(db_default=Decimal('0'), decimal_places=2, default=Decimal('0'), max_digits=14)),
                ('notified_at', core.moments.MomentField(null=True)),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
            ],
        ),
        migrations.RemoveConstraint(
            model_name='rewardclaim',
            name='reward_given_once',
        ),
        migrations.RemoveConstraint(
            model_name='userloyaltycampaign',
            name='progress_starts_at_one',
        ),
        migrations.AddField(
            model_name='campaign',
            name='budget',
            field=models.DecimalField(blank=True, decimal_places=2, help_text='The most points that all milestones may pay together. A milestone that costs more than what is left pays nothing. Leave empty for no limit.', max_digits=14, null=True, validators=[django.core.validators.MinValueValidator(Decimal('0.01'))], verbose_name='budget in points'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='conditions',
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
        migrations.AddField(
            model_name='campaign',
            name='is_repeatable',
            field=models.BooleanField(db_default=False, default=False, help_text='If ticked, members who reach the goal start a new round and can earn the rewards again.', verbose_name='repeatable'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='step_by',
            field=models.CharField(choices=[('count', 'Actions, one by one'), ('amount', 'Money spent'), ('products', 'Different products')], db_default='count', default='count', help_text='What brings a customer nearer to the goal. It cannot be changed once somebody has begun.', max_length=8, verbose_name='counts'),
        ),
        migrations.AddField(
            model_name='rewardclaim',
            name='points',
            field=models.DecimalField(decimal_places=2, editable=False, max_digits=10, null=True),
        ),
        migrations.AddField(
            model_name='rewardclaim',
            name='round',
            field=models.PositiveIntegerField(db_default=1, default=1),
        ),
        migrations.AddField(
            model_name='userloyaltycampaign',
            name='products',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), db_default=[], default=list, help_text='Ids of the products.', size=None),
        ),
        migrations.AddField(
            model_name='userloyaltycampaign',
            name='round',
            field=models.PositiveIntegerField(db_default=1, default=1),
        ),
        migrations.AlterField(
            model_name='userloyaltycampaign',
            name='progress',
            field=models.DecimalField(decimal_places=2, default=1, max_digits=12),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(('step_by__in', ['count', 'amount', 'products'])), name='campaign_step_known'),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(('step_by', 'count'), ('type__in', ['authenticator_scan', 'order']), _connector='OR'), name='campaign_step_needs_products', violation_error_message='Only scans and orders have products and amounts to count.'),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(('budget__isnull', True), ('budget__gt', 0), _connector='OR'), name='campaign_budget_positive'),
        ),
        migrations.AddConstraint(
            model_name='campaignbudget',
            constraint=models.CheckConstraint(condition=models.Q(('points__gte', 0)), name='campaign_spent_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='rewardclaim',
            constraint=models.UniqueConstraint(fields=('milestone', 'user', 'round'), name='reward_given_once_in_a_round'),
        ),
        migrations.AddConstraint(
            model_name='userloyaltycampaign',
            constraint=models.CheckConstraint(condition=models.Q(('progress__gte', 0)), name='progress_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='userloyaltycampaign',
            constraint=models.CheckConstraint(condition=models.Q(('round__gte', 1)), name='progress_round_positive'),
        ),
        migrations.AlterField(
            model_name='earningrule',
            name='kind',
            field=models.CharField(choices=[('scan-auth', 'Product scanned'), ('order-complete', 'Order completed'), ('log-user-profile-update', 'Profile field completed'), ('log-user-login', 'First login of the day'), ('milestone', 'Milestone that pays points'), ('member-welcome', 'Member joined')], max_length=64, verbose_name='when'),
        ),
        migrations.RunSQL(BUDGETS, migrations.RunSQL.noop),
        migrations.RunSQL(RULES_FOR_JOINING, migrations.RunSQL.noop),
    ]
