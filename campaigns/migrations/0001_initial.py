import campaigns.models.event_kinds
import core.moments
import core.translations
import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('brands', '0001_initial'),
        ('jobs', '0001_initial'),
        ('loyalty', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Campaign',
            fields=[
                ('campaign_id', models.BigAutoField(primary_key=True, serialize=False)),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='campaigns', to='brands.brand', verbose_name='brand')),
                ('campaign_name', models.CharField(max_length=120, verbose_name='campaign name')),
                ('type', models.CharField(choices=[('authenticator_scan', 'Product scans'), ('order', 'Orders'), ('profile', 'Profile changes'), ('login', 'Logins')], default='authenticator_scan', max_length=32, verbose_name='type')),
                ('target_value', models.PositiveIntegerField(help_text='The goal, for example a count of scans.', validators=[django.core.validators.MinValueValidator(1)], verbose_name='target value')),
                ('step_by', models.CharField(choices=[('count', 'Actions, one by one'), ('amount', 'Money spent'), ('products', 'Different products')], db_default='count', default='count', help_text='What brings a customer nearer to the goal. It cannot be changed once somebody has begun.', max_length=8, verbose_name='counts')),
                ('is_repeatable', models.BooleanField(db_default=False, default=False, help_text='If ticked, members who reach the goal start a new round and can earn the rewards again.', verbose_name='repeatable')),
                ('conditions', models.JSONField(blank=True, db_default={}, default=dict, verbose_name='conditions')),
                ('budget', models.DecimalField(blank=True, decimal_places=2, help_text='The most points that all milestones may pay together. A milestone that costs more than what is left pays nothing. Leave empty for no limit.', max_digits=14, null=True, validators=[django.core.validators.MinValueValidator(Decimal('0.01'))], verbose_name='budget in points')),
                ('starts_at', core.moments.MomentField(blank=True, null=True, verbose_name='starts at')),
                ('ends_at', core.moments.MomentField(blank=True, null=True, verbose_name='ends at')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='created at')),
                ('translations', core.translations.TranslationsField(blank=True, db_default={}, default=dict, editable=False, of=('campaign_name',), verbose_name='translations')),
            ],
            options={
                'verbose_name': 'campaign',
                'verbose_name_plural': 'campaigns',
                'ordering': ['-campaign_id'],
                'constraints': [models.CheckConstraint(condition=models.Q(('target_value__gte', 1)), name='campaign_target_positive'), models.CheckConstraint(condition=models.Q(('starts_at__isnull', True), ('ends_at__isnull', True), ('ends_at__gt', models.F('starts_at')), _connector='OR'), name='campaign_ends_after_start', violation_error_message='The campaign must end after it starts.'), models.CheckConstraint(condition=models.Q(('type__in', ['authenticator_scan', 'order', 'profile', 'login'])), name='campaign_type_known'), models.CheckConstraint(condition=models.Q(('step_by__in', ['count', 'amount', 'products'])), name='campaign_step_known'), models.CheckConstraint(condition=models.Q(('step_by', 'count'), ('type__in', ['authenticator_scan', 'order']), _connector='OR'), name='campaign_step_needs_products', violation_error_message='Only scans and orders have products and amounts to count.'), models.CheckConstraint(condition=models.Q(('budget__isnull', True), ('budget__gt', 0), _connector='OR'), name='campaign_budget_positive')],
            },
        ),
        migrations.CreateModel(
            name='Milestone',
            fields=[
                ('milestone_id', models.BigAutoField(primary_key=True, serialize=False)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='milestones', to='campaigns.campaign', verbose_name='campaign')),
                ('threshold', models.PositiveIntegerField(help_text='The progress at which it is reached.', validators=[django.core.validators.MinValueValidator(1)], verbose_name='threshold')),
                ('reward', models.ForeignKey(blank=True, help_text='What the milestone gives. The stock and partner codes of the catalogue apply, but the cost does not.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='milestones', to='loyalty.reward', verbose_name='reward of the catalogue')),
                ('reward_name', models.CharField(help_text='What the milestone gives. A reward of the catalogue has its own name.', max_length=120, verbose_name='reward name')),
                ('reward_points', models.DecimalField(decimal_places=2, default=0, help_text='Points that the milestone pays.', max_digits=10, validators=[django.core.validators.MinValueValidator(0)], verbose_name='reward points')),
                ('auto_claim', models.BooleanField(default=True, help_text='If ticked, points are credited or a code is issued at once. If not, the customer claims the reward.', verbose_name='given at once')),
                ('translations', core.translations.TranslationsField(blank=True, db_default={}, default=dict, editable=False, of=('reward_name',), verbose_name='translations')),
            ],
            options={
                'verbose_name': 'milestone',
                'verbose_name_plural': 'milestones',
                'ordering': ['campaign_id', 'threshold'],
                'constraints': [models.UniqueConstraint(fields=('campaign', 'threshold'), name='one_milestone_per_threshold'), models.CheckConstraint(condition=models.Q(('threshold__gte', 1)), name='milestone_threshold_positive'), models.CheckConstraint(condition=models.Q(('reward_points__gte', 0)), name='milestone_reward_not_negative'), models.CheckConstraint(condition=models.Q(('reward__isnull', True), ('reward_points', 0), _connector='OR'), name='milestone_gives_points_or_a_reward', violation_error_message='A milestone gives either points or a reward of the catalogue. Clear one of the two.')],
            },
        ),
        migrations.CreateModel(
            name='CampaignBudgetUse',
            fields=[
                ('campaign', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='budget_use', serialize=False, to='campaigns.campaign')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('points', models.DecimalField(db_default=Decimal('0'), decimal_places=2, default=Decimal('0'), max_digits=14)),
                ('notified_at', core.moments.MomentField(null=True)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('points__gte', 0)), name='campaign_spent_not_negative')],
            },
        ),
        migrations.CreateModel(
            name='UserLoyaltyCampaign',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='campaign_progress', to=settings.AUTH_USER_MODEL, verbose_name='customer')),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='progress_rows', to='campaigns.campaign', verbose_name='campaign')),
                ('progress', models.DecimalField(decimal_places=2, default=1, max_digits=12, verbose_name='progress')),
                ('milestones_achieved', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), default=list, help_text='Ids of the milestones.', size=None)),
                ('round', models.PositiveIntegerField(db_default=1, default=1)),
                ('products', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), db_default=[], default=list, help_text='Ids of the products.', size=None)),
                ('created_at', core.moments.MomentField(db_column='createdAt', default=django.utils.timezone.now, editable=False, verbose_name='created at')),
                ('updated_at', core.moments.MomentField(db_column='updatedAt', default=django.utils.timezone.now, editable=False, verbose_name='updated at')),
            ],
            options={
                'verbose_name': 'campaign progress',
                'verbose_name_plural': 'campaign progress',
                'db_table': 'user_loyalty_campaign',
                'ordering': ['-updated_at', '-id'],
                'constraints': [models.UniqueConstraint(fields=('user', 'campaign'), name='one_progress_per_campaign'), models.CheckConstraint(condition=models.Q(('progress__gte', 0)), name='progress_not_negative'), models.CheckConstraint(condition=models.Q(('round__gte', 1)), name='progress_round_positive')],
            },
        ),
        migrations.CreateModel(
            name='RewardClaim',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('milestone', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='claims', to='campaigns.milestone', verbose_name='milestone')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='reward_claims', to=settings.AUTH_USER_MODEL, verbose_name='customer')),
                ('round', models.PositiveIntegerField(db_default=1, default=1)),
                ('points', models.DecimalField(decimal_places=2, editable=False, max_digits=10, null=True)),
                ('status', models.CharField(choices=[('available', 'To be claimed'), ('claimed', 'Claimed')], default='available', max_length=10, verbose_name='status')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='created at')),
                ('claimed_at', core.moments.MomentField(blank=True, editable=False, null=True, verbose_name='claimed at')),
            ],
            options={
                'verbose_name': 'reward claim',
                'verbose_name_plural': 'reward claims',
                'ordering': ['-created_at', '-id'],
                'indexes': [models.Index(fields=['user', '-id'], name='claims_of_customer')],
                'constraints': [models.UniqueConstraint(fields=('milestone', 'user', 'round'), name='reward_given_once_in_a_round'), models.CheckConstraint(condition=models.Q(models.Q(('claimed_at__isnull', True), ('status', 'available')), models.Q(('claimed_at__isnull', False), ('status', 'claimed')), _connector='OR'), name='reward_claim_state')],
            },
        ),
        migrations.CreateModel(
            name='EventKind',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='event_kinds', to='brands.brand', verbose_name='brand')),
                ('name', models.CharField(help_text="The event's detail-type, such as store-visit. It never changes.", max_length=60, validators=[django.core.validators.RegexValidator('^[a-z][a-z0-9]*(-[a-z0-9]+)*\\Z', 'Use lower-case letters and digits with hyphens between, such as store-visit.'), campaigns.models.event_kinds.validate_kind_name], verbose_name='name')),
                ('title', models.CharField(help_text='Shown to customers next to their points.', max_length=80, verbose_name='title')),
                ('is_active', models.BooleanField(default=True, help_text='If not ticked, events of this kind are stored and earn nothing.', verbose_name='accepts events')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='created at')),
                ('translations', core.translations.TranslationsField(blank=True, db_default={}, default=dict, editable=False, of=('title',), verbose_name='translations')),
            ],
            options={
                'verbose_name': 'event kind',
                'verbose_name_plural': 'event kinds',
                'ordering': ['brand_id', 'name'],
                'constraints': [models.UniqueConstraint(fields=('brand', 'name'), name='event_kind_once_per_brand')],
            },
        ),
        migrations.CreateModel(
            name='EventKindField',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='fields', to='campaigns.eventkind', verbose_name='kind')),
                ('name', models.CharField(max_length=40, validators=[django.core.validators.RegexValidator('^[a-z][a-z0-9_]*\\Z', 'Use lower-case letters, digits and underscores, such as visit_minutes.'), campaigns.models.event_kinds.validate_field_name], verbose_name='name')),
                ('label', models.CharField(max_length=80, verbose_name='label')),
                ('type', models.CharField(choices=[('text', 'Text'), ('whole', 'Whole number'), ('decimal', 'Decimal number'), ('switch', 'Yes or no'), ('date', 'Date'), ('time', 'Time of day'), ('product', 'Product'), ('option', 'One of a list')], default='text', max_length=8, verbose_name='type')),
                ('required', models.BooleanField(default=False, verbose_name='required')),
                ('options', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=80), blank=True, db_default=[], default=list, size=100, verbose_name='options')),
            ],
            options={
                'verbose_name': 'field',
                'verbose_name_plural': 'fields of the payload',
                'ordering': ['kind_id', 'id'],
                'constraints': [models.UniqueConstraint(fields=('kind', 'name'), name='event_field_once_per_kind'), models.CheckConstraint(condition=models.Q(('type__in', ['text', 'whole', 'decimal', 'switch', 'date', 'time', 'product', 'option'])), name='event_field_type_known')],
            },
        ),
        migrations.CreateModel(
            name='EarningRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='earning_rules', to='brands.brand', verbose_name='brand')),
                ('name', models.CharField(blank=True, help_text='Shown to customers next to their points. Leave empty to name the rule after its kind.', max_length=120, verbose_name='name')),
                ('kind', models.CharField(choices=[('scan-auth', 'Product scanned'), ('order-complete', 'Order completed'), ('log-user-profile-update', 'Profile field completed'), ('log-user-login', 'First login of the day'), ('milestone', 'Milestone that pays points'), ('member-welcome', 'Member joined'), ('member-birthday', "Member's birthday")], max_length=64, verbose_name='when')),
                ('reward_type', models.CharField(choices=[('points', 'Fixed points'), ('percentage', 'Percent of the amount'), ('multiplier', 'Multiple of what other rules give'), ('bonus', 'Bonus on top, never multiplied')], default='points', max_length=10, verbose_name='effect')),
                ('reward_value', models.DecimalField(decimal_places=2, help_text='The points, the percentage or the multiplier.', max_digits=10, validators=[django.core.validators.MinValueValidator(0)], verbose_name='value')),
                ('per', models.CharField(choices=[('event', 'Once for the action'), ('item', 'For each item that matches')], db_default='event', default='event', max_length=5, verbose_name='given')),
                ('basis', models.CharField(choices=[('whole', 'The whole amount'), ('matching', 'Only the items that match')], db_default='whole', default='whole', max_length=8, verbose_name='percent of')),
                ('conditions', models.JSONField(blank=True, db_default={}, default=dict, verbose_name='conditions')),
                ('limits', models.JSONField(blank=True, db_default=[], default=list, verbose_name='limits')),
                ('stacking', models.CharField(choices=[('add', 'Adds to other rules'), ('multiply', 'Multiplies the result of other multipliers'), ('best', 'Only the best rule of its group counts')], db_default='add', default='add', max_length=8, verbose_name='stacking')),
                ('group', models.CharField(blank=True, db_default='', default='', help_text="Rules that exclude each other share a group. “level” is the group of the level's points.", max_length=40, verbose_name='group')),
                ('priority', models.PositiveSmallIntegerField(db_default=100, default=100, help_text='Higher ones count first where the order matters.', verbose_name='priority')),
                ('starts_at', core.moments.MomentField(blank=True, null=True, verbose_name='starts at')),
                ('ends_at', core.moments.MomentField(blank=True, null=True, verbose_name='ends at')),
                ('without_end', models.BooleanField(db_default=False, default=False, help_text='Tick this if the rule has conditions or multiplies, and has neither an end nor a limit.', verbose_name='runs until somebody ends it')),
                ('state', models.CharField(choices=[('draft', 'Draft'), ('active', 'Active'), ('paused', 'Paused'), ('ended', 'Ended')], db_default='active', default='active', max_length=8, verbose_name='state')),
                ('state_changed_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='state changed at')),
                ('state_changed_by', models.ForeignKey(blank=True, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='state changed by')),
                ('translations', core.translations.TranslationsField(blank=True, db_default={}, default=dict, editable=False, of=('name',), verbose_name='translations')),
            ],
            options={
                'verbose_name': 'earning rule',
                'verbose_name_plural': 'earning rules',
                'ordering': ['brand_id', 'kind', '-priority', 'id'],
                'constraints': [models.UniqueConstraint(fields=('brand', 'name'), name='earning_rule_name_unique_in_brand'), models.CheckConstraint(condition=models.Q(('reward_value__gte', 0)), name='earning_rule_not_negative'), models.CheckConstraint(condition=models.Q(('reward_type__in', ['points', 'percentage', 'multiplier', 'bonus'])), name='earning_rule_effect_known'), models.CheckConstraint(condition=models.Q(models.Q(('reward_type', 'percentage'), _negated=True), ('kind__in', ['order-complete', 'scan-auth']), _connector='OR'), name='percentage_needs_an_amount', violation_error_message='Only orders and scans have an amount to take a percentage of.'), models.CheckConstraint(condition=models.Q(models.Q(('reward_type', 'multiplier'), _negated=True), ('reward_value__gt', 1), _connector='OR'), name='multiplier_above_one', violation_error_message='A multiplier is more than 1, such as 2 for double points.'), models.CheckConstraint(condition=models.Q(models.Q(('stacking', 'multiply'), _negated=True), ('reward_type', 'multiplier'), _connector='OR'), name='only_multipliers_multiply', violation_error_message='Only a multiplier can multiply; let the rule add.'), models.CheckConstraint(condition=models.Q(models.Q(('stacking', 'best'), _negated=True), models.Q(('group', ''), _negated=True), _connector='OR'), name='best_of_a_group', violation_error_message='Name the group in which only the best rule counts.'), models.CheckConstraint(condition=models.Q(('starts_at__isnull', True), ('ends_at__isnull', True), ('ends_at__gt', models.F('starts_at')), _connector='OR'), name='earning_rule_ends_after_start', violation_error_message='The rule must end after it starts.'), models.CheckConstraint(condition=models.Q(('state__in', ['draft', 'active', 'paused', 'ended'])), name='earning_rule_state_known')],
            },
        ),
        migrations.CreateModel(
            name='EarningRuleSet',
            fields=[
                ('brand', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='brands.brand')),
                ('version', models.PositiveIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='EarningRuleVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='brands.brand')),
                ('rule_id', models.BigIntegerField()),
                ('number', models.PositiveIntegerField(help_text="Counts the rule's own versions.")),
                ('set_version', models.PositiveIntegerField()),
                ('content', models.JSONField(null=True)),
                ('written_at', core.moments.MomentField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['-id'],
                'constraints': [models.UniqueConstraint(fields=('brand', 'rule_id', 'set_version'), name='one_version_in_a_set')],
            },
        ),
        migrations.CreateModel(
            name='EarningRuleBudgetUse',
            fields=[
                ('rule', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='budget_use', serialize=False, to='campaigns.earningrule')),
                ('points', models.DecimalField(db_default=Decimal('0'), decimal_places=2, default=Decimal('0'), max_digits=14)),
                ('events', models.PositiveBigIntegerField(db_default=0, default=0)),
                ('used_up_at', core.moments.MomentField(null=True)),
                ('notified_at', core.moments.MomentField(null=True)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('events__gte', 0), ('points__gte', 0)), name='rule_budget_not_negative')],
            },
        ),
        migrations.CreateModel(
            name='EarningRuleUse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rule', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='campaigns.earningrule')),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='loyalty.userpoints')),
                ('period', models.CharField(choices=[('day', 'a day'), ('week', 'a week'), ('month', 'a month'), ('ever', 'in all')], max_length=5)),
                ('started', core.moments.DayField()),
                ('points', models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=14)),
                ('events', models.PositiveBigIntegerField(default=0)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('rule', 'account', 'period'), name='one_use_per_period'), models.CheckConstraint(condition=models.Q(('events__gte', 0), ('points__gte', 0)), name='rule_use_not_negative')],
            },
        ),
        migrations.CreateModel(
            name='EarningTerms',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('content', models.JSONField()),
                ('valid_from', core.moments.MomentField()),
            ],
            options={
                'verbose_name': 'earning terms',
                'verbose_name_plural': 'earning terms',
                'ordering': ['-valid_from', '-id'],
                'indexes': [models.Index(fields=['brand', 'valid_from'], name='terms_of_brand')],
            },
        ),
        migrations.CreateModel(
            name='Replay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand', verbose_name='brand')),
                ('kind', models.CharField(choices=[('rule', 'Earning rule'), ('levels', 'Levels'), ('campaign', 'Campaign')], db_default='rule', default='rule', max_length=8, verbose_name='kind')),
                ('rule', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='replays', to='campaigns.earningrule', verbose_name='rule')),
                ('campaign', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='replays', to='campaigns.campaign', verbose_name='campaign')),
                ('name', models.CharField(max_length=120, verbose_name='draft')),
                ('content', models.JSONField(help_text='What the draft contained.')),
                ('since', core.moments.MomentField(verbose_name='from')),
                ('until', core.moments.MomentField(verbose_name='until')),
                ('job', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='jobs.job', verbose_name='job')),
                ('result', models.JSONField(null=True)),
                ('created_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='started by')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, verbose_name='started')),
                ('finished_at', core.moments.MomentField(null=True, verbose_name='finished')),
                ('expires_at', core.moments.MomentField(db_index=True, verbose_name='kept until')),
            ],
            options={
                'verbose_name': 'replay',
                'verbose_name_plural': 'replays',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['brand', '-id'], name='replay_of_brand')],
                'constraints': [models.CheckConstraint(condition=models.Q(('until__gt', models.F('since'))), name='replay_period_not_empty'), models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', True), ('result__isnull', True)), models.Q(('finished_at__isnull', False), ('result__isnull', False)), _connector='OR'), name='replay_finished_with_result'), models.CheckConstraint(condition=models.Q(models.Q(('campaign__isnull', True), ('kind', 'rule'), ('rule__isnull', False)), models.Q(('campaign__isnull', True), ('kind', 'levels'), ('rule__isnull', True)), models.Q(('campaign__isnull', False), ('kind', 'campaign'), ('rule__isnull', True)), _connector='OR'), name='replay_of_its_kind')],
            },
        ),
    ]
