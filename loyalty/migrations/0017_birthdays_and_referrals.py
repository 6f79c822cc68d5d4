"""Birthdays of customers; referrals, the codes of members and what brands give for them."""

import core.moments
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0011_birthday_points'),
        ('loyalty', '0016_level_periods'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='emailconfirmation',
            name='referral_code',
            field=models.CharField(blank=True, db_default='', max_length=8, verbose_name='referral code'),
        ),
        migrations.CreateModel(
            name='Birthday',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('month', models.PositiveSmallIntegerField(verbose_name='month')),
                ('day', models.PositiveSmallIntegerField(verbose_name='day')),
                ('set_at', core.moments.MomentField(default=django.utils.timezone.now)),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'birthday',
                'verbose_name_plural': 'birthdays',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['brand', 'month', 'day', 'id'], name='birthdays_by_day')],
                'constraints': [models.UniqueConstraint(fields=('brand', 'user'), name='one_birthday_per_customer'), models.CheckConstraint(condition=models.Q(('day__range', (1, 31)), ('month__range', (1, 12)), models.Q(('day__lte', 29), models.Q(('month', 2), _negated=True), _connector='OR'), models.Q(('day__lte', 30), models.Q(('month__in', [4, 6, 9, 11]), _negated=True), _connector='OR')), name='birthday_is_a_day')],
            },
        ),
        migrations.CreateModel(
            name='Referral',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('rewarded', 'Rewarded'), ('rejected', 'Rejected'), ('lapsed', 'Lapsed'), ('reversed', 'Reversed')], default='waiting', max_length=8, verbose_name='state')),
                ('why', models.CharField(blank=True, choices=[('', '-'), ('email', 'Same e-mail address'), ('phone', 'Same phone number'), ('device', 'Same device'), ('blocked', 'A blocked member'), ('month', "The member's limit of the month"), ('total', "The member's limit"), ('budget', "The programme's budget"), ('return', 'The order was returned')], default='', max_length=8, verbose_name='why')),
                ('referrer_points', models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=10, verbose_name='points for the member')),
                ('friend_points', models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=10, verbose_name='points for the friend')),
                ('action', models.CharField(blank=True, default='', help_text='Of its ledger entry.', max_length=255, verbose_name='first action')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='joined at')),
                ('rewarded_at', core.moments.MomentField(editable=False, null=True, verbose_name='rewarded at')),
                ('decided_at', core.moments.MomentField(editable=False, null=True, verbose_name='decided at')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='brands.brand')),
                ('friend', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='referral', to='loyalty.userpoints', verbose_name='friend')),
                ('referrer', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='referrals', to='loyalty.userpoints', verbose_name='member')),
            ],
            options={
                'verbose_name': 'referral',
                'verbose_name_plural': 'referrals',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['brand', '-id'], name='referrals_of_brand'), models.Index(condition=models.Q(('state', 'waiting')), fields=['brand', 'id'], name='referrals_waiting')],
                'constraints': [models.CheckConstraint(condition=models.Q(('referrer', models.F('friend')), _negated=True), name='referral_of_another'), models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'rewarded', 'rejected', 'lapsed', 'reversed'])), name='referral_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('rewarded_at__isnull', False), ('state__in', ['rewarded', 'reversed'])), models.Q(('friend_points', 0), ('referrer_points', 0), ('rewarded_at__isnull', True), ('state__in', ['waiting', 'rejected', 'lapsed'])), _connector='OR'), name='referral_rewarded_with_points')],
            },
        ),
        migrations.CreateModel(
            name='ReferralCode',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(max_length=8)),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now)),
                ('account', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='referral_code', to='loyalty.userpoints')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
            ],
            options={
                'verbose_name': 'referral code',
                'verbose_name_plural': 'referral codes',
                'ordering': ['-id'],
                'constraints': [models.UniqueConstraint(fields=('brand', 'code'), name='referral_code_unique_in_brand')],
            },
        ),
        migrations.CreateModel(
            name='ReferralProgramme',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('is_active', models.BooleanField(default=False, help_text='Members can refer friends. What waits is kept while this is off.', verbose_name='active')),
                ('referrer_points', models.DecimalField(decimal_places=2, help_text='For each friend.', max_digits=10, validators=[django.core.validators.MinValueValidator(0)], verbose_name='points for the member')),
                ('friend_points', models.DecimalField(decimal_places=2, max_digits=10, validators=[django.core.validators.MinValueValidator(0)], verbose_name='points for the friend')),
                ('action', models.CharField(choices=[('scan', "The friend's first scan that earns points"), ('order', "The friend's first order that earns points"), ('either', 'Either of them')], db_default='either', default='either', max_length=6, verbose_name='given after')),
                ('monthly_limit', models.PositiveIntegerField(default=5, help_text="For how many a member gets points at most, by the brand's clock.", validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10000)], verbose_name='friends in a month')),
                ('total_limit', models.PositiveIntegerField(default=50, help_text='For how many a member gets points at most.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100000)], verbose_name='friends in all')),
                ('budget', models.DecimalField(blank=True, decimal_places=2, help_text='Points for members and friends together. Leave empty for no limit.', max_digits=14, null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='budget')),
                ('points_rewarded', models.DecimalField(db_default=Decimal('0'), decimal_places=2, default=Decimal('0'), editable=False, max_digits=14, verbose_name='points rewarded')),
                ('days_for_code', models.PositiveSmallIntegerField(default=14, help_text='So long after joining a friend can still enter a code. Enter 0 for at registration only.', validators=[django.core.validators.MaxValueValidator(90)], verbose_name='days for the code')),
                ('days_for_action', models.PositiveSmallIntegerField(default=90, help_text='After so many days without it a referral lapses.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(365)], verbose_name='days for the first action')),
                ('brand', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='referral_programme', to='brands.brand')),
            ],
            options={
                'verbose_name': 'referral programme',
                'verbose_name_plural': 'referral programmes',
                'ordering': ['brand_id'],
                'constraints': [models.CheckConstraint(condition=models.Q(('friend_points__gte', 0), ('points_rewarded__gte', 0), ('referrer_points__gte', 0)), name='referral_points_not_negative'), models.CheckConstraint(condition=models.Q(('referrer_points__gt', 0), ('friend_points__gt', 0), _connector='OR'), name='referral_gives_something', violation_error_message='Enter points for the member, for the friend, or for both.'), models.CheckConstraint(condition=models.Q(('action__in', ['scan', 'order', 'either'])), name='referral_action_known')],
            },
        ),
    ]
