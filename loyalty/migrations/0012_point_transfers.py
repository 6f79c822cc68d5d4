"""Members give points to each other: transfers, and how many of an account's points were received."""

import core.moments
import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.expressions
import django.utils.timezone
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0009_point_transfers'),
        ('loyalty', '0011_ledger_of_brand'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='PointTransfer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('points', models.DecimalField(decimal_places=2, max_digits=10, verbose_name='points')),
                ('balance_after', models.DecimalField(decimal_places=2, help_text='What the sender had left.', max_digits=14, verbose_name='balance after')),
                ('request_key', models.UUIDField(editable=False, unique=True)),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='given at')),
            ],
            options={
                'verbose_name': 'transfer',
                'verbose_name_plural': 'transfers',
                'ordering': ['-id'],
            },
        ),
        migrations.RemoveConstraint(
            model_name='userpoints',
            name='points_not_negative',
        ),
        migrations.RemoveConstraint(
            model_name='userpoints',
            name='lifetime_not_negative',
        ),
        migrations.AddField(
            model_name='userpoints',
            name='points_received',
            field=models.DecimalField(db_default=Decimal('0'), decimal_places=2, default=Decimal('0'), help_text='Earned points that other members gave. They do not count towards a level.', max_digits=14),
        ),
        migrations.AlterField(
            model_name='notification',
            name='template',
            field=models.CharField(choices=[('NOTIFY_CAMPAIGN_SUCCESS', 'Points earned'), ('NOTIFY_LEVEL_REACHED', 'Level reached'), ('NOTIFY_REWARD_AVAILABLE', 'Reward available'), ('NOTIFY_POINTS_EXPIRING', 'Points expire soon'), ('NOTIFY_POINTS_RECEIVED', 'Points from another member'), ('NOTIFY_RECALL', 'Product recall'), ('NOTIFY_PASSWORD_FORGOTTEN', 'Forgotten password'), ('NOTIFY_EMAIL_CONFIRMATION', 'Confirm an e-mail address'), ('NOTIFY_ALREADY_REGISTERED', 'Already registered'), ('NOTIFY_LOGIN_PAUSED', 'Logins from new devices paused'), ('NOTIFY_EMAIL_CHANGE', 'Confirm a new e-mail address'), ('NOTIFY_EMAIL_CHANGE_NOTICE', 'E-mail address about to change')], max_length=32, verbose_name='notification'),
        ),
        migrations.AlterField(
            model_name='notificationdelivery',
            name='template',
            field=models.CharField(choices=[('NOTIFY_CAMPAIGN_SUCCESS', 'Points earned'), ('NOTIFY_LEVEL_REACHED', 'Level reached'), ('NOTIFY_REWARD_AVAILABLE', 'Reward available'), ('NOTIFY_POINTS_EXPIRING', 'Points expire soon'), ('NOTIFY_POINTS_RECEIVED', 'Points from another member'), ('NOTIFY_RECALL', 'Product recall'), ('NOTIFY_PASSWORD_FORGOTTEN', 'Forgotten password'), ('NOTIFY_EMAIL_CONFIRMATION', 'Confirm an e-mail address'), ('NOTIFY_ALREADY_REGISTERED', 'Already registered'), ('NOTIFY_LOGIN_PAUSED', 'Logins from new devices paused'), ('NOTIFY_EMAIL_CHANGE', 'Confirm a new e-mail address'), ('NOTIFY_EMAIL_CHANGE_NOTICE', 'E-mail address about to change')], max_length=32, verbose_name='notification'),
        ),
        migrations.AlterField(
            model_name='notificationtemplate',
            name='template',
            field=models.CharField(choices=[('NOTIFY_CAMPAIGN_SUCCESS', 'Points earned'), ('NOTIFY_LEVEL_REACHED', 'Level reached'), ('NOTIFY_REWARD_AVAILABLE', 'Reward available'), ('NOTIFY_POINTS_EXPIRING', 'Points expire soon'), ('NOTIFY_POINTS_RECEIVED', 'Points from another member'), ('NOTIFY_RECALL', 'Product recall'), ('NOTIFY_PASSWORD_FORGOTTEN', 'Forgotten password'), ('NOTIFY_EMAIL_CONFIRMATION', 'Confirm an e-mail address'), ('NOTIFY_ALREADY_REGISTERED', 'Already registered'), ('NOTIFY_LOGIN_PAUSED', 'Logins from new devices paused'), ('NOTIFY_EMAIL_CHANGE', 'Confirm a new e-mail address'), ('NOTIFY_EMAIL_CHANGE_NOTICE', 'E-mail address about to change')], max_length=32, verbose_name='notification'),
        ),
        migrations.AlterField(
            model_name='webhookendpoint',
            name='types',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('points.earned', 'points.earned: points credited'), ('level.reached', 'level.reached: a level reached'), ('points.adjusted', 'points.adjusted: adjusted by hand'), ('points.expired', 'points.expired: points expired'), ('points.returned', 'points.returned: points given back'), ('points.reversed', 'points.reversed: an order returned'), ('points.pending', 'points.pending: points pending'), ('points.released', 'points.released: no longer pending'), ('points.transferred', 'points.transferred: given to a member'), ('reward.redeemed', 'reward.redeemed: a reward redeemed'), ('reward.used', 'reward.used: a code used'), ('reward.cancelled', 'reward.cancelled: cancelled'), ('member.enrolled', 'member.enrolled: a new member'), ('member.blocked', 'member.blocked: blocked'), ('member.unblocked', 'member.unblocked: unblocked'), ('member.changed', 'member.changed: details changed'), ('member.erased', 'member.erased: data erased'), ('code.scanned', 'code.scanned: a code scanned'), ('codes.deactivated', 'codes.deactivated: switched off'), ('codes.reactivated', 'codes.reactivated: switched on'), ('batch.recalled', 'batch.recalled: a batch recalled'), ('job.finished', 'job.finished: a job ended')], max_length=40), help_text='The events that the address receives.', size=None, verbose_name='events'),
        ),
        migrations.AddConstraint(
            model_name='userpoints',
            constraint=models.CheckConstraint(condition=models.Q(('points__gte', 0), ('points_earned__gte', 0), ('points_expired__gte', 0), ('points_redeemed__gte', 0), ('points_owed__gte', 0), ('points_pending__gte', 0), ('points_received__gte', 0), ('points_reversed__gte', 0)), name='points_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='userpoints',
            constraint=models.CheckConstraint(condition=models.Q(('points_earned__gte', django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(models.F('points_received'), '+', models.F('points_returned')), '+', models.F('points_reversed')), '+', models.F('points_owed')))), name='lifetime_not_negative'),
        ),
        migrations.AddField(
            model_name='pointtransfer',
            name='brand',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='brands.brand'),
        ),
        migrations.AddField(
            model_name='pointtransfer',
            name='receiver',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='received_transfers', to='loyalty.userpoints', verbose_name='receiver'),
        ),
        migrations.AddField(
            model_name='pointtransfer',
            name='sender',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='sent_transfers', to='loyalty.userpoints', verbose_name='sender'),
        ),
        migrations.AddIndex(
            model_name='pointtransfer',
            index=models.Index(fields=['brand', '-id'], name='transfers_of_brand'),
        ),
        migrations.AddConstraint(
            model_name='pointtransfer',
            constraint=models.CheckConstraint(condition=models.Q(('points__gt', 0)), name='transfer_moves_points'),
        ),
        migrations.AddConstraint(
            model_name='pointtransfer',
            constraint=models.CheckConstraint(condition=models.Q(('sender', models.F('receiver')), _negated=True), name='transfer_to_another'),
        ),
    ]
