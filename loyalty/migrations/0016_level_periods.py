"""Levels that end: what counts, until when a level stays, how it changed; and the benefits of levels."""

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

    dependencies = [
        ('brands', '0010_level_periods'),
        ('loyalty', '0015_merges'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='LevelChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('level_before', models.CharField(blank=True, max_length=60, verbose_name='from')),
                ('level_after', models.CharField(blank=True, max_length=60, verbose_name='to')),
                ('reason', models.CharField(choices=[('reached', 'Reached'), ('renewed', 'Renewed for another period'), ('lowered', 'Too few points in the period'), ('returned', 'Order returned')], max_length=8, verbose_name='reason')),
                ('points', models.DecimalField(decimal_places=2, help_text='Those of the period that decided it.', max_digits=14, verbose_name='points')),
                ('level_until', core.moments.DayField(blank=True, help_text='The last day of the level. None for the lowest.', null=True, verbose_name='kept until')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='at')),
            ],
            options={
                'verbose_name': 'level change',
                'verbose_name_plural': 'level changes',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='LevelPeriodState',
            fields=[
                ('brand', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='brands.brand')),
                ('setting', models.CharField(max_length=120)),
                ('extends', models.BooleanField(help_text='Levels stay for at least one whole period from here on.')),
                ('reached', models.BigIntegerField(null=True)),
                ('changed_at', core.moments.MomentField()),
            ],
        ),
        migrations.AddField(
            model_name='brandlevel',
            name='benefits',
            field=models.TextField(blank=True, db_default='', default='', help_text='What members of this level get, one benefit per line, as customers read it.', max_length=1000, verbose_name='benefits'),
        ),
        migrations.AddField(
            model_name='userpoints',
            name='level_due_at',
            field=core.moments.MomentField(blank=True, help_text='When the level is looked at again.', null=True),
        ),
        migrations.AddField(
            model_name='userpoints',
            name='level_until',
            field=core.moments.DayField(blank=True, help_text='The last day of the level, if it ends.', null=True),
        ),
        migrations.AddField(
            model_name='userpoints',
            name='level_warned_until',
            field=core.moments.DayField(blank=True, help_text='The end that the member was warned of.', null=True),
        ),
        migrations.AddField(
            model_name='userpoints',
            name='period_from',
            field=core.moments.DayField(blank=True, help_text='The first day whose points count towards a level.', null=True),
        ),
        migrations.AddField(
            model_name='userpoints',
            name='points_before_period',
            field=models.DecimalField(db_default=Decimal('0'), decimal_places=2, default=Decimal('0'), help_text='Lifetime points from before the period. They no longer count towards a level.', max_digits=14),
        ),
        migrations.AlterField(
            model_name='brandlevel',
            name='threshold',
            field=models.DecimalField(decimal_places=2, default=Decimal('0'), help_text='Points needed to reach this level: all ever earned, or those of a period where levels end.', max_digits=12, validators=[django.core.validators.MinValueValidator(0)]),
        ),
        migrations.AlterField(
            model_name='brandlevel',
            name='translations',
            field=core.translations.TranslationsField(blank=True, db_default={}, default=dict, editable=False, of=('name', 'benefits')),
        ),
        migrations.AlterField(
            model_name='notification',
            name='template',
            field=models.CharField(choices=[('NOTIFY_CAMPAIGN_SUCCESS', 'Points earned'), ('NOTIFY_LEVEL_REACHED', 'Level reached'), ('NOTIFY_LEVEL_ENDING', 'Level ends soon'), ('NOTIFY_LEVEL_LOWERED', 'Level lost'), ('NOTIFY_REWARD_AVAILABLE', 'Reward available'), ('NOTIFY_POINTS_EXPIRING', 'Points expire soon'), ('NOTIFY_POINTS_RECEIVED', 'Points from another member'), ('NOTIFY_RECALL', 'Product recall'), ('NOTIFY_PASSWORD_FORGOTTEN', 'Forgotten password'), ('NOTIFY_EMAIL_CONFIRMATION', 'Confirm an e-mail address'), ('NOTIFY_ALREADY_REGISTERED', 'Already registered'), ('NOTIFY_LOGIN_PAUSED', 'Logins from new devices paused'), ('NOTIFY_EMAIL_CHANGE', 'Confirm a new e-mail address'), ('NOTIFY_EMAIL_CHANGE_NOTICE', 'E-mail address about to change')], max_length=32, verbose_name='notification'),
        ),
        migrations.AlterField(
            model_name='notificationdelivery',
            name='template',
            field=models.CharField(choices=[('NOTIFY_CAMPAIGN_SUCCESS', 'Points earned'), ('NOTIFY_LEVEL_REACHED', 'Level reached'), ('NOTIFY_LEVEL_ENDING', 'Level ends soon'), ('NOTIFY_LEVEL_LOWERED', 'Level lost'), ('NOTIFY_REWARD_AVAILABLE', 'Reward available'), ('NOTIFY_POINTS_EXPIRING', 'Points expire soon'), ('NOTIFY_POINTS_RECEIVED', 'Points from another member'), ('NOTIFY_RECALL', 'Product recall'), ('NOTIFY_PASSWORD_FORGOTTEN', 'Forgotten password'), ('NOTIFY_EMAIL_CONFIRMATION', 'Confirm an e-mail address'), ('NOTIFY_ALREADY_REGISTERED', 'Already registered'), ('NOTIFY_LOGIN_PAUSED', 'Logins from new devices paused'), ('NOTIFY_EMAIL_CHANGE', 'Confirm a new e-mail address'), ('NOTIFY_EMAIL_CHANGE_NOTICE', 'E-mail address about to change')], max_length=32, verbose_name='notification'),
        ),
        migrations.AlterField(
            model_name='notificationtemplate',
            name='template',
            field=models.CharField(choices=[('NOTIFY_CAMPAIGN_SUCCESS', 'Points earned'), ('NOTIFY_LEVEL_REACHED', 'Level reached'), ('NOTIFY_LEVEL_ENDING', 'Level ends soon'), ('NOTIFY_LEVEL_LOWERED', 'Level lost'), ('NOTIFY_REWARD_AVAILABLE', 'Reward available'), ('NOTIFY_POINTS_EXPIRING', 'Points expire soon'), ('NOTIFY_POINTS_RECEIVED', 'Points from another member'), ('NOTIFY_RECALL', 'Product recall'), ('NOTIFY_PASSWORD_FORGOTTEN', 'Forgotten password'), ('NOTIFY_EMAIL_CONFIRMATION', 'Confirm an e-mail address'), ('NOTIFY_ALREADY_REGISTERED', 'Already registered'), ('NOTIFY_LOGIN_PAUSED', 'Logins from new devices paused'), ('NOTIFY_EMAIL_CHANGE', 'Confirm a new e-mail address'), ('NOTIFY_EMAIL_CHANGE_NOTICE', 'E-mail address about to change')], max_length=32, verbose_name='notification'),
        ),
        migrations.AlterField(
            model_name='webhookendpoint',
            name='types',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('points.earned', 'points.earned: points credited'), ('level.reached', 'level.reached: a level reached'), ('level.renewed', 'level.renewed: kept for another period'), ('level.lowered', 'level.lowered: a level lost'), ('points.adjusted', 'points.adjusted: adjusted by hand'), ('points.expired', 'points.expired: points expired'), ('points.returned', 'points.returned: points given back'), ('points.reversed', 'points.reversed: an order returned'), ('points.pending', 'points.pending: points pending'), ('points.released', 'points.released: no longer pending'), ('points.transferred', 'points.transferred: given to a member'), ('reward.redeemed', 'reward.redeemed: a reward redeemed'), ('reward.used', 'reward.used: a code used'), ('reward.cancelled', 'reward.cancelled: cancelled'), ('member.enrolled', 'member.enrolled: a new member'), ('member.blocked', 'member.blocked: blocked'), ('member.unblocked', 'member.unblocked: unblocked'), ('member.changed', 'member.changed: details changed'), ('member.merged', 'member.merged: accounts merged'), ('member.unmerged', 'member.unmerged: merge undone'), ('member.erased', 'member.erased: data erased'), ('code.scanned', 'code.scanned: a code scanned'), ('codes.deactivated', 'codes.deactivated: switched off'), ('codes.reactivated', 'codes.reactivated: switched on'), ('batch.recalled', 'batch.recalled: a batch recalled'), ('job.finished', 'job.finished: a job ended')], max_length=40), help_text='The events that the address receives.', size=None, verbose_name='events'),
        ),
        migrations.AddIndex(
            model_name='userpoints',
            index=models.Index(condition=models.Q(('level_due_at__isnull', False)), fields=['brand', 'level_due_at'], name='levels_due'),
        ),
        migrations.AddField(
            model_name='levelchange',
            name='brand',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='brands.brand'),
        ),
        migrations.AddField(
            model_name='levelchange',
            name='user_point',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='level_changes', to='loyalty.userpoints'),
        ),
        migrations.AddIndex(
            model_name='levelchange',
            index=models.Index(fields=['brand', '-id'], name='level_changes_of_brand'),
        ),
        migrations.AddIndex(
            model_name='levelchange',
            index=models.Index(fields=['user_point', '-id'], name='level_changes_of_member'),
        ),
        migrations.AddConstraint(
            model_name='levelchange',
            constraint=models.CheckConstraint(condition=models.Q(('reason__in', ['reached', 'renewed', 'lowered', 'returned'])), name='level_change_reason_known'),
        ),
    ]
