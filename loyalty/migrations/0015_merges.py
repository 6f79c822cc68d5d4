"""Two accounts of one person become one: merges, the accounts they lead to, and their ledger entries."""

import core.moments
import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0009_point_transfers'),
        ('loyalty', '0014_redemption_rounds'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='AccountMerge',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('note', models.TextField(blank=True, verbose_name='reason')),
                ('points', models.DecimalField(decimal_places=2, max_digits=14, verbose_name='points')),
                ('settled', models.DecimalField(decimal_places=2, help_text='Owed points that the merge settled.', max_digits=14, verbose_name='settled')),
                ('carried', models.JSONField(editable=False)),
                ('moved', models.JSONField(editable=False)),
                ('level_before', models.CharField(blank=True, editable=False, max_length=60)),
                ('level_after', models.CharField(blank=True, editable=False, max_length=60)),
                ('request_key', models.UUIDField(editable=False, unique=True)),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='merged at')),
                ('undone_at', core.moments.MomentField(editable=False, null=True, verbose_name='undone at')),
            ],
            options={
                'verbose_name': 'merge',
                'verbose_name_plural': 'merges',
                'ordering': ['-id'],
            },
        ),
        migrations.RemoveConstraint(
            model_name='loyaltytransaction',
            name='one_amount_for_its_reason',
        ),
        migrations.RemoveConstraint(
            model_name='userpoints',
            name='member_status_known',
        ),
        migrations.AddField(
            model_name='userpoints',
            name='merged_from',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), editable=False, help_text='The accounts that were merged into this one; empty for none.', null=True, size=None),
        ),
        migrations.AddField(
            model_name='userpoints',
            name='merged_into',
            field=models.ForeignKey(db_index=False, editable=False, help_text='The account of the same person that goes on, where this one was merged.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='loyalty.userpoints'),
        ),
        migrations.AlterField(
            model_name='loyaltytransaction',
            name='reason',
            field=models.CharField(choices=[('earned', 'Earned'), ('redeemed', 'Redeemed'), ('expired', 'Expired'), ('reversed', 'Reversed'), ('pending', 'Pending'), ('released', 'Released'), ('cancelled', 'Cancelled'), ('merged', 'Merged')], max_length=50),
        ),
        migrations.AlterField(
            model_name='userpoints',
            name='status',
            field=models.CharField(choices=[('active', 'Active'), ('blocked', 'Blocked'), ('merged', 'Merged')], default='active', max_length=10),
        ),
        migrations.AlterField(
            model_name='webhookendpoint',
            name='types',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('points.earned', 'points.earned: points credited'), ('level.reached', 'level.reached: a level reached'), ('points.adjusted', 'points.adjusted: adjusted by hand'), ('points.expired', 'points.expired: points expired'), ('points.returned', 'points.returned: points given back'), ('points.reversed', 'points.reversed: an order returned'), ('points.pending', 'points.pending: points pending'), ('points.released', 'points.released: no longer pending'), ('points.transferred', 'points.transferred: given to a member'), ('reward.redeemed', 'reward.redeemed: a reward redeemed'), ('reward.used', 'reward.used: a code used'), ('reward.cancelled', 'reward.cancelled: cancelled'), ('member.enrolled', 'member.enrolled: a new member'), ('member.blocked', 'member.blocked: blocked'), ('member.unblocked', 'member.unblocked: unblocked'), ('member.changed', 'member.changed: details changed'), ('member.merged', 'member.merged: accounts merged'), ('member.unmerged', 'member.unmerged: merge undone'), ('member.erased', 'member.erased: data erased'), ('code.scanned', 'code.scanned: a code scanned'), ('codes.deactivated', 'codes.deactivated: switched off'), ('codes.reactivated', 'codes.reactivated: switched on'), ('batch.recalled', 'batch.recalled: a batch recalled'), ('job.finished', 'job.finished: a job ended')], max_length=40), help_text='The events that the address receives.', size=None, verbose_name='events'),
        ),
        migrations.AddConstraint(
            model_name='loyaltytransaction',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('points_cleared', 0), ('points_earned__gte', 0), ('points_expired', 0), ('points_pending', 0), ('points_redeemed', 0), ('points_reversed', 0), ('reason', 'earned')), models.Q(('points_cleared', 0), ('points_earned', 0), ('points_expired', 0), ('points_pending', 0), ('points_redeemed__gt', 0), ('points_reversed', 0), ('reason', 'redeemed')), models.Q(('points_cleared', 0), ('points_earned', 0), ('points_expired__gt', 0), ('points_pending', 0), ('points_redeemed', 0), ('points_reversed', 0), ('reason', 'expired')), models.Q(('points_cleared', 0), ('points_earned', 0), ('points_expired', 0), ('points_pending', 0), ('points_redeemed', 0), ('points_reversed__gt', 0), ('reason', 'reversed')), models.Q(('points_cleared', 0), ('points_earned', 0), ('points_expired', 0), ('points_pending__gte', 0), ('points_redeemed', 0), ('points_reversed', 0), ('reason', 'pending')), models.Q(('points_cleared', models.F('points_earned')), ('points_earned__gt', 0), ('points_expired', 0), ('points_pending', 0), ('points_redeemed', 0), ('points_reversed', 0), ('reason', 'released')), models.Q(('points_cleared__gt', 0), ('points_earned', 0), ('points_expired', 0), ('points_pending', 0), ('points_redeemed', 0), ('points_reversed', 0), ('reason', 'cancelled')), models.Q(('points_cleared', 0), ('reason', 'merged')), _connector='OR'), name='one_amount_for_its_reason'),
        ),
        migrations.AddConstraint(
            model_name='userpoints',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['active', 'blocked', 'merged'])), name='member_status_known'),
        ),
        migrations.AddConstraint(
            model_name='userpoints',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('merged_into__isnull', False), ('status', 'merged')), models.Q(models.Q(('status', 'merged'), _negated=True), ('merged_into', None)), _connector='OR'), name='merged_into_another'),
        ),
        migrations.AddField(
            model_name='accountmerge',
            name='brand',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='brands.brand'),
        ),
        migrations.AddField(
            model_name='accountmerge',
            name='source',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='ended_by_merges', to='loyalty.userpoints', verbose_name='ended'),
        ),
        migrations.AddField(
            model_name='accountmerge',
            name='target',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='merges', to='loyalty.userpoints', verbose_name='kept'),
        ),
        migrations.AddConstraint(
            model_name='accountmerge',
            constraint=models.UniqueConstraint(condition=models.Q(('undone_at', None)), fields=('source',), name='merged_once'),
        ),
        migrations.AddConstraint(
            model_name='accountmerge',
            constraint=models.CheckConstraint(condition=models.Q(('target', models.F('source')), _negated=True), name='merged_with_another'),
        ),
    ]
