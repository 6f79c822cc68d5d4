"""Rewards for points, and what became of each that was taken."""

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from decimal import Decimal
from django.conf import settings
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0005_looks_of_a_brand'),
        ('campaigns', '0004_say_it_in_words'),
        ('loyalty', '0007_request_of_events'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Redemption',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='As it was called at the time.', max_length=120, verbose_name='reward')),
                ('cost', models.DecimalField(decimal_places=2, max_digits=10)),
                ('balance_after', models.DecimalField(decimal_places=2, editable=False, max_digits=14)),
                ('code', models.CharField(db_collation='C', editable=False, max_length=16)),
                ('request_key', models.UUIDField(editable=False, help_text='What the request that made it is known by.')),
                ('status', models.CharField(choices=[('issued', 'Issued'), ('used', 'Used'), ('cancelled', 'Cancelled')], default='issued', max_length=10)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('used_at', models.DateTimeField(blank=True, null=True)),
                ('cancelled_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='Reward',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=120)),
                ('description', models.TextField(blank=True, max_length=2000)),
                ('cost', models.DecimalField(decimal_places=2, help_text='In points.', max_digits=10, validators=[django.core.validators.MinValueValidator(Decimal('0.01'))])),
                ('stock', models.PositiveIntegerField(blank=True, help_text='How many are left; empty: as many as are asked for.', null=True)),
                ('limit_per_member', models.PositiveIntegerField(blank=True, help_text='How many one member may take in all; empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('valid_from', models.DateTimeField(blank=True, null=True)),
                ('valid_until', models.DateTimeField(blank=True, null=True)),
                ('is_active', models.BooleanField(default=True)),
                ('code_days', models.PositiveIntegerField(blank=True, default=90, help_text='Days until an unused code is worth nothing; empty: it stays good.', null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.AddField(
            model_name='userpoints',
            name='points_returned',
            field=models.DecimalField(db_default=Decimal('0'), decimal_places=2, default=Decimal('0'), help_text='Of the earned ones those that came back from cancelled redemptions: they count for no level.', max_digits=14),
        ),
        AddConstraintNotValid(  # the next migration validates it, which lets the accounts be used meanwhile
            model_name='userpoints',
            constraint=models.CheckConstraint(condition=models.Q(('points_returned__gte', 0), ('points_returned__lte', models.F('points_redeemed')), ('points_returned__lte', models.F('points_earned'))), name='points_returned_were_redeemed'),
        ),
        migrations.AddField(
            model_name='redemption',
            name='brand',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='redemptions', to='brands.brand'),
        ),
        migrations.AddField(
            model_name='redemption',
            name='milestone',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='redemptions', to='campaigns.milestone'),
        ),
        migrations.AddField(
            model_name='redemption',
            name='used_by',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='redemption',
            name='used_key',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='brands.apikey'),
        ),
        migrations.AddField(
            model_name='redemption',
            name='user_point',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='redemptions', to='loyalty.userpoints', verbose_name='member'),
        ),
        migrations.AddField(
            model_name='reward',
            name='brand',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='rewards', to='brands.brand'),
        ),
        migrations.AddField(
            model_name='reward',
            name='minimum_level',
            field=models.ForeignKey(blank=True, help_text='For members of this level and above; empty: for everybody.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='rewards', to='loyalty.brandlevel'),
        ),
        migrations.AddField(
            model_name='redemption',
            name='reward',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='redemptions', to='loyalty.reward'),
        ),
        migrations.AddConstraint(
            model_name='reward',
            constraint=models.CheckConstraint(condition=models.Q(('cost__gt', 0)), name='reward_costs_something'),
        ),
        migrations.AddConstraint(
            model_name='reward',
            constraint=models.CheckConstraint(condition=models.Q(('stock__isnull', True), ('stock__gte', 0), _connector='OR'), name='stock_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='reward',
            constraint=models.CheckConstraint(condition=models.Q(('limit_per_member__isnull', True), ('limit_per_member__gte', 1), _connector='OR'), name='reward_limit_positive'),
        ),
        migrations.AddConstraint(
            model_name='reward',
            constraint=models.CheckConstraint(condition=models.Q(('valid_from__isnull', True), ('valid_until__isnull', True), ('valid_until__gt', models.F('valid_from')), _connector='OR'), name='reward_ends_after_start', violation_error_message='The reward must end after it starts.'),
        ),
        migrations.AddConstraint(
            model_name='reward',
            constraint=models.CheckConstraint(condition=models.Q(('code_days__isnull', True), ('code_days__range', (1, 36500)), _connector='OR'), name='reward_code_days_sensible'),
        ),
        migrations.AddIndex(
            model_name='redemption',
            index=models.Index(fields=['brand', '-id'], name='redemptions_of_a_brand'),
        ),
        migrations.AddIndex(
            model_name='redemption',
            index=models.Index(fields=['user_point', '-id'], name='redemptions_of_a_member'),
        ),
        migrations.AddConstraint(
            model_name='redemption',
            constraint=models.UniqueConstraint(fields=('code',), name='redemption_code_unique'),
        ),
        migrations.AddConstraint(
            model_name='redemption',
            constraint=models.UniqueConstraint(fields=('user_point', 'request_key'), name='one_redemption_per_request'),
        ),
        migrations.AddConstraint(
            model_name='redemption',
            constraint=models.UniqueConstraint(condition=models.Q(('milestone__isnull', False)), fields=('user_point', 'milestone'), name='one_redemption_per_milestone'),
        ),
        migrations.AddConstraint(
            model_name='redemption',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('cost__gt', 0), ('milestone__isnull', True), ('reward__isnull', False)), models.Q(('cost', 0), ('milestone__isnull', False), ('reward__isnull', True)), _connector='OR'), name='redemption_of_a_reward_or_a_milestone'),
        ),
        migrations.AddConstraint(
            model_name='redemption',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('cancelled_at__isnull', True), ('status', 'issued'), ('used_at__isnull', True)), models.Q(('cancelled_at__isnull', True), ('status', 'used'), ('used_at__isnull', False)), models.Q(('cancelled_at__isnull', False), ('status', 'cancelled'), ('used_at__isnull', True)), _connector='OR'), name='redemption_state'),
        ),
    ]
