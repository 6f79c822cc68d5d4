"""Points of returned orders go back, are owed where they were spent, and points of orders may be pending."""

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
        ('brands', '0008_order_points_and_returns'),
        ('loyalty', '0007_opening_balances_and_partner_codes'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='OrderReturn',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('order_id', models.CharField(max_length=200, verbose_name='order id')),
                ('return_id', models.CharField(max_length=40, verbose_name='return id')),
                ('kind', models.CharField(choices=[('order-returned', 'Returned'), ('order-cancelled', 'Cancelled')], max_length=16, verbose_name='kind')),
                ('status', models.CharField(choices=[('waiting', 'Waiting for its order'), ('applied', 'Applied'), ('rejected', 'Rejected')], default='waiting', max_length=10, verbose_name='status')),
                ('amount', models.DecimalField(decimal_places=2, default=0, help_text="In the order's currency.", max_digits=12, verbose_name='amount')),
                ('request', models.JSONField(default=dict, help_text='What the shop asked to return.', verbose_name='request')),
                ('points_reversed', models.DecimalField(decimal_places=2, default=0, help_text='Taken from the balance, or owed where it was too small.', max_digits=10, verbose_name='points reversed')),
                ('points_cancelled', models.DecimalField(decimal_places=2, default=0, max_digits=10, verbose_name='pending points cancelled')),
                ('event', models.BigIntegerField(help_text='The event that reported it.', verbose_name='event')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, verbose_name='reported at')),
                ('applied_at', core.moments.MomentField(null=True, verbose_name='applied at')),
            ],
            options={
                'verbose_name': 'order return',
                'verbose_name_plural': 'order returns',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='PendingPoints',
            fields=[
                ('entry', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='+', serialize=False, to='loyalty.loyaltytransaction')),
                ('points', models.DecimalField(decimal_places=2, max_digits=10, verbose_name='points')),
                ('remaining', models.DecimalField(decimal_places=2, help_text='Neither released nor cancelled.', max_digits=10, verbose_name='still pending')),
                ('release_at', core.moments.MomentField(blank=True, null=True, verbose_name='released on')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, verbose_name='earned')),
            ],
            options={
                'verbose_name': 'pending points',
                'verbose_name_plural': 'pending points',
                'ordering': ['-entry_id'],
            },
        ),
        migrations.RemoveConstraint(
            model_name='loyaltytransaction',
            name='one_amount_for_its_reason',
        ),
        migrations.RemoveConstraint(
            model_name='userpoints',
            name='balance_is_earned_minus_spent',
        ),
        migrations.RemoveConstraint(
            model_name='userpoints',
            name='points_not_negative',
        ),
        migrations.AddField(
            model_name='creditedorder',
            name='amount',
            field=models.DecimalField(decimal_places=2, max_digits=12, null=True, verbose_name='amount'),
        ),
        migrations.AddField(
            model_name='creditedorder',
            name='currency',
            field=models.CharField(blank=True, db_default='', default='', max_length=3, verbose_name='currency'),
        ),
        migrations.AddField(
            model_name='creditedorder',
            name='event_id',
            field=models.UUIDField(null=True, verbose_name='event id'),
        ),
        migrations.AddField(
            model_name='creditedorder',
            name='items',
            field=models.JSONField(db_default=[], default=list, verbose_name='items'),
        ),
        migrations.AddField(
            model_name='loyaltytransaction',
            name='points_cleared',
            field=models.DecimalField(db_default=Decimal('0'), decimal_places=2, default=Decimal('0'), max_digits=10),
        ),
        migrations.AddField(
            model_name='loyaltytransaction',
            name='points_pending',
            field=models.DecimalField(db_default=Decimal('0'), decimal_places=2, default=Decimal('0'), max_digits=10),
        ),
        migrations.AddField(
            model_name='loyaltytransaction',
            name='points_reversed',
            field=models.DecimalField(db_default=Decimal('0'), decimal_places=2, default=Decimal('0'), max_digits=10),
        ),
        migrations.AddField(
            model_name='userpoints',
            name='points_owed',
            field=models.DecimalField(db_default=Decimal('0'), decimal_places=2, default=Decimal('0'), help_text='Points of returned orders that were spent already. The next points that come in settle them.', max_digits=14),
        ),
        migrations.AddField(
            model_name='userpoints',
            name='points_pending',
            field=models.DecimalField(db_default=Decimal('0'), decimal_places=2, default=Decimal('0'), help_text='Earned by orders, but not yet part of the balance.', max_digits=14),
        ),
        migrations.AddField(
            model_name='userpoints',
            name='points_reversed',
            field=models.DecimalField(db_default=Decimal('0'), decimal_places=2, default=Decimal('0'), help_text='Points of returned orders that were taken back.', max_digits=14),
        ),
        migrations.AlterField(
            model_name='loyaltytransaction',
            name='reason',
            field=models.CharField(choices=[('earned', 'Earned'), ('redeemed', 'Redeemed'), ('expired', 'Expired'), ('reversed', 'Reversed'), ('pending', 'Pending'), ('released', 'Released'), ('cancelled', 'Cancelled')], max_length=50),
        ),
        migrations.AlterField(
            model_name='webhookendpoint',
            name='types',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('points.earned', 'points.earned: points credited'), ('level.reached', 'level.reached: a level reached'), ('points.adjusted', 'points.adjusted: adjusted by hand'), ('points.expired', 'points.expired: points expired'), ('points.returned', 'points.returned: points given back'), ('points.reversed', 'points.reversed: an order returned'), ('points.pending', 'points.pending: points pending'), ('points.released', 'points.released: no longer pending'), ('reward.redeemed', 'reward.redeemed: a reward redeemed'), ('reward.used', 'reward.used: a code used'), ('reward.cancelled', 'reward.cancelled: cancelled'), ('member.enrolled', 'member.enrolled: a new member'), ('member.blocked', 'member.blocked: blocked'), ('member.unblocked', 'member.unblocked: unblocked'), ('member.changed', 'member.changed: details changed'), ('member.erased', 'member.erased: data erased'), ('code.scanned', 'code.scanned: a code scanned'), ('codes.deactivated', 'codes.deactivated: switched off'), ('codes.reactivated', 'codes.reactivated: switched on'), ('batch.recalled', 'batch.recalled: a batch recalled'), ('job.finished', 'job.finished: a job ended')], max_length=40), help_text='The events that the address receives.', size=None, verbose_name='events'),
        ),
        migrations.AddConstraint(
            model_name='loyaltytransaction',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('points_cleared', 0), ('points_earned__gte', 0), ('points_expired', 0), ('points_pending', 0), ('points_redeemed', 0), ('points_reversed', 0), ('reason', 'earned')), models.Q(('points_cleared', 0), ('points_earned', 0), ('points_expired', 0), ('points_pending', 0), ('points_redeemed__gt', 0), ('points_reversed', 0), ('reason', 'redeemed')), models.Q(('points_cleared', 0), ('points_earned', 0), ('points_expired__gt', 0), ('points_pending', 0), ('points_redeemed', 0), ('points_reversed', 0), ('reason', 'expired')), models.Q(('points_cleared', 0), ('points_earned', 0), ('points_expired', 0), ('points_pending', 0), ('points_redeemed', 0), ('points_reversed__gt', 0), ('reason', 'reversed')), models.Q(('points_cleared', 0), ('points_earned', 0), ('points_expired', 0), ('points_pending__gte', 0), ('points_redeemed', 0), ('points_reversed', 0), ('reason', 'pending')), models.Q(('points_cleared', models.F('points_earned')), ('points_earned__gt', 0), ('points_expired', 0), ('points_pending', 0), ('points_redeemed', 0), ('points_reversed', 0), ('reason', 'released')), models.Q(('points_cleared__gt', 0), ('points_earned', 0), ('points_expired', 0), ('points_pending', 0), ('points_redeemed', 0), ('points_reversed', 0), ('reason', 'cancelled')), _connector='OR'), name='one_amount_for_its_reason'),
        ),
        migrations.AddConstraint(
            model_name='userpoints',
            constraint=models.CheckConstraint(condition=models.Q(('points', django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(models.F('points_earned'), '-', models.F('points_redeemed')), '-', models.F('points_expired')), '-', models.F('points_reversed')))), name='balance_is_earned_minus_spent'),
        ),
        migrations.AddConstraint(
            model_name='userpoints',
            constraint=models.CheckConstraint(condition=models.Q(('points__gte', 0), ('points_earned__gte', 0), ('points_expired__gte', 0), ('points_redeemed__gte', 0), ('points_owed__gte', 0), ('points_pending__gte', 0), ('points_reversed__gte', 0)), name='points_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='userpoints',
            constraint=models.CheckConstraint(condition=models.Q(('points', 0), ('points_owed', 0), _connector='OR'), name='owes_only_without_balance'),
        ),
        migrations.AddConstraint(
            model_name='userpoints',
            constraint=models.CheckConstraint(condition=models.Q(('points_earned__gte', django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(models.F('points_returned'), '+', models.F('points_reversed')), '+', models.F('points_owed')))), name='lifetime_not_negative'),
        ),
        migrations.AddField(
            model_name='orderreturn',
            name='brand',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='brands.brand'),
        ),
        migrations.AddField(
            model_name='orderreturn',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='pendingpoints',
            name='user_point',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='loyalty.userpoints', verbose_name='member'),
        ),
        migrations.AddConstraint(
            model_name='orderreturn',
            constraint=models.UniqueConstraint(fields=('brand', 'order_id', 'return_id'), name='return_reported_once'),
        ),
        migrations.AddConstraint(
            model_name='orderreturn',
            constraint=models.CheckConstraint(condition=models.Q(('amount__gte', 0), ('points_cancelled__gte', 0), ('points_reversed__gte', 0)), name='return_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='orderreturn',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('applied_at__isnull', False), ('status', 'applied')), models.Q(('applied_at', None), ('points_cancelled', 0), ('points_reversed', 0), ('status__in', ['waiting', 'rejected'])), _connector='OR'), name='only_applied_returns_take_points'),
        ),
        migrations.AddConstraint(
            model_name='orderreturn',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['order-returned', 'order-cancelled'])), name='return_kind_known'),
        ),
        migrations.AddIndex(
            model_name='pendingpoints',
            index=models.Index(condition=models.Q(('remaining__gt', 0)), fields=['release_at'], name='pending_by_release'),
        ),
        migrations.AddConstraint(
            model_name='pendingpoints',
            constraint=models.CheckConstraint(condition=models.Q(('points__gte', 0), ('remaining__gte', 0), ('remaining__lte', models.F('points'))), name='pending_within_earned'),
        ),
    ]
