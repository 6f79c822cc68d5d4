import core.moments
import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('brands', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Campaign',
            fields=[
                ('campaign_id', models.BigAutoField(primary_key=True, serialize=False)),
                ('campaign_name', models.CharField(max_length=120)),
                ('type', models.CharField(choices=[('authenticator_scan', 'Product scans'), ('order', 'Orders'), ('profile', 'Profile changes'), ('login', 'Logins')], default='authenticator_scan', max_length=32)),
                ('target_value', models.PositiveIntegerField(help_text='The goal, for example a count of scans.', validators=[django.core.validators.MinValueValidator(1)])),
                ('starts_at', core.moments.MomentField(blank=True, null=True)),
                ('ends_at', core.moments.MomentField(blank=True, null=True)),
                ('is_active', models.BooleanField(default=True)),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='campaigns', to='brands.brand')),
            ],
            options={
                'ordering': ['-campaign_id'],
            },
        ),
        migrations.CreateModel(
            name='EarningRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('order-complete', 'Order completed'), ('log-user-profile-update', 'Profile field completed'), ('log-user-login', 'First login of the day')], max_length=32)),
                ('reward_type', models.CharField(choices=[('points', 'Fixed points'), ('percentage', 'Percent of the amount')], default='points', max_length=10)),
                ('reward_value', models.DecimalField(decimal_places=2, max_digits=10, validators=[django.core.validators.MinValueValidator(0)])),
                ('is_active', models.BooleanField(default=True)),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='earning_rules', to='brands.brand')),
            ],
            options={
                'ordering': ['brand_id', 'kind'],
            },
        ),
        migrations.CreateModel(
            name='Milestone',
            fields=[
                ('milestone_id', models.BigAutoField(primary_key=True, serialize=False)),
                ('threshold', models.PositiveIntegerField(help_text='The progress at which it is reached.', validators=[django.core.validators.MinValueValidator(1)])),
                ('reward_name', models.CharField(max_length=120)),
                ('reward_points', models.DecimalField(decimal_places=2, default=0, help_text='Points that it pays.', max_digits=10, validators=[django.core.validators.MinValueValidator(0)])),
                ('auto_claim', models.BooleanField(default=True, help_text='If ticked, points are credited or a code is issued at once. If not, the customer claims the reward.')),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='milestones', to='campaigns.campaign')),
            ],
            options={
                'ordering': ['campaign_id', 'threshold'],
            },
        ),
        migrations.CreateModel(
            name='RewardClaim',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('status', models.CharField(choices=[('available', 'Available'), ('claimed', 'Claimed')], default='available', max_length=10)),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('claimed_at', core.moments.MomentField(blank=True, editable=False, null=True)),
                ('milestone', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='claims', to='campaigns.milestone')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reward_claims', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at', '-id'],
            },
        ),
        migrations.CreateModel(
            name='UserLoyaltyCampaign',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('progress', models.PositiveIntegerField(default=1)),
                ('milestones_achieved', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), default=list, help_text='Ids of the milestones.', size=None)),
                ('created_at', core.moments.MomentField(db_column='createdAt', default=django.utils.timezone.now, editable=False)),
                ('updated_at', core.moments.MomentField(db_column='updatedAt', default=django.utils.timezone.now, editable=False)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='progress_rows', to='campaigns.campaign')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='campaign_progress', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'campaign progress',
                'verbose_name_plural': 'campaign progress',
                'db_table': 'user_loyalty_campaign',
                'ordering': ['-updated_at', '-id'],
            },
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(('target_value__gte', 1)), name='campaign_target_positive'),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(('starts_at__isnull', True), ('ends_at__isnull', True), ('ends_at__gt', models.F('starts_at')), _connector='OR'), name='campaign_ends_after_start', violation_error_message='The campaign must end after it starts.'),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(('type__in', ['authenticator_scan', 'order', 'profile', 'login'])), name='campaign_type_known'),
        ),
        migrations.AddConstraint(
            model_name='earningrule',
            constraint=models.UniqueConstraint(fields=('brand', 'kind'), name='one_earning_rule_per_kind'),
        ),
        migrations.AddConstraint(
            model_name='earningrule',
            constraint=models.CheckConstraint(condition=models.Q(('reward_value__gte', 0)), name='earning_rule_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='earningrule',
            constraint=models.CheckConstraint(condition=models.Q(('reward_type', 'points'), models.Q(('kind', 'order-complete'), ('reward_type', 'percentage')), _connector='OR'), name='percentage_needs_an_amount', violation_error_message='Only orders have an amount to take a percentage of.'),
        ),
        migrations.AddConstraint(
            model_name='milestone',
            constraint=models.UniqueConstraint(fields=('campaign', 'threshold'), name='one_milestone_per_threshold'),
        ),
        migrations.AddConstraint(
            model_name='milestone',
            constraint=models.CheckConstraint(condition=models.Q(('threshold__gte', 1)), name='milestone_threshold_positive'),
        ),
        migrations.AddConstraint(
            model_name='milestone',
            constraint=models.CheckConstraint(condition=models.Q(('reward_points__gte', 0)), name='milestone_reward_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='rewardclaim',
            constraint=models.UniqueConstraint(fields=('milestone', 'user'), name='reward_given_once'),
        ),
        migrations.AddConstraint(
            model_name='rewardclaim',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('claimed_at__isnull', True), ('status', 'available')), models.Q(('claimed_at__isnull', False), ('status', 'claimed')), _connector='OR'), name='reward_claim_state'),
        ),
        migrations.AddConstraint(
            model_name='userloyaltycampaign',
            constraint=models.UniqueConstraint(fields=('user', 'campaign'), name='one_progress_per_campaign'),
        ),
        migrations.AddConstraint(
            model_name='userloyaltycampaign',
            constraint=models.CheckConstraint(condition=models.Q(('progress__gte', 1)), name='progress_starts_at_one'),
        ),
    ]
