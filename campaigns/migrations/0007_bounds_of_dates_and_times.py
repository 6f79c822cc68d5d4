"""Every date and time lies within the bounds of core.moments; what was stored outside of them moves there."""

import django.utils.timezone
from django.db import migrations

from core.moments import MomentField, bring_within


class Migration(migrations.Migration):

    dependencies = [
        ("campaigns", "0006_milestone_points_below_ceiling"),
    ]

    operations = [
        migrations.RunSQL(bring_within('campaigns_campaign', 'starts_at', 'ends_at'), migrations.RunSQL.noop),
        migrations.AlterField(
            model_name='campaign',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='campaign',
            name='ends_at',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='campaign',
            name='starts_at',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='rewardclaim',
            name='claimed_at',
            field=MomentField(blank=True, editable=False, null=True),
        ),
        migrations.AlterField(
            model_name='rewardclaim',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='userloyaltycampaign',
            name='created_at',
            field=MomentField(db_column='createdAt', default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='userloyaltycampaign',
            name='updated_at',
            field=MomentField(db_column='updatedAt', default=django.utils.timezone.now, editable=False),
        ),
    ]
