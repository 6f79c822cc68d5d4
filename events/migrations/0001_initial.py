import core.moments
import django.db.models.deletion
import django.utils.timezone
import events.models
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('brands', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('event_id', models.UUIDField(default=uuid.uuid4, help_text="The envelope's id, unique per source.", verbose_name='event id')),
                ('source', models.CharField(max_length=120, verbose_name='source')),
                ('detail_type', models.CharField(max_length=64, verbose_name='kind')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='events', to='brands.brand', verbose_name='brand')),
                ('account', models.CharField(blank=True, max_length=64)),
                ('region', models.CharField(blank=True, max_length=64)),
                ('time', core.moments.MomentField(default=django.utils.timezone.now, verbose_name='time')),
                ('lane', models.CharField(db_default='points', default='points', help_text='Slow kinds of events have lanes of their own.', max_length=10)),
                ('detail', models.JSONField(help_text='Arguments and payload. Never contains a bearer token.')),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('done', 'Done'), ('refused', 'Rejected'), ('ignored', 'Ignored (no handler)'), ('dead', 'Failed')], default='pending', max_length=10, verbose_name='status')),
                ('attempts', models.PositiveIntegerField(default=0, verbose_name='attempts')),
                ('crashes', models.PositiveSmallIntegerField(db_default=0, default=0, help_text='Consecutive attempts during which the worker process died.', verbose_name='crashes')),
                ('due_at', core.moments.MomentField(default=django.utils.timezone.now, help_text='When it is due. A worker that leases it postpones this.', verbose_name='due at')),
                ('give_up_at', core.moments.MomentField(default=events.models.default_give_up_at, help_text='A failure after this moment is final.', verbose_name='give up at')),
                ('outcome', models.JSONField(blank=True, help_text='The stored response or error.', null=True)),
                ('request_id', models.CharField(blank=True, db_default='', default='', help_text='The request that caused it.', max_length=64, verbose_name='request id')),
                ('last_error', models.TextField(blank=True, verbose_name='last error')),
                ('on_hold_for', models.BigIntegerField(blank=True, help_text='The customer whose confirmed e-mail address it waits for.', null=True, verbose_name='held for')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='created at')),
                ('finished_at', core.moments.MomentField(blank=True, editable=False, null=True, verbose_name='finished at')),
            ],
            options={
                'verbose_name': 'event',
                'verbose_name_plural': 'events',
                'ordering': ['-id'],
                'indexes': [models.Index(condition=models.Q(('status', 'pending')), fields=['lane', 'due_at'], name='event_due_in_lane'), models.Index(condition=models.Q(('status', 'pending'), models.Q(('lane', 'points'), _negated=True)), fields=['lane', 'brand', 'due_at'], name='event_due_of_brand'), models.Index(condition=models.Q(('status', 'dead')), fields=['id'], name='event_dead'), models.Index(condition=models.Q(('on_hold_for__isnull', False), ('status', 'pending')), fields=['on_hold_for'], name='event_held'), models.Index(condition=models.Q(('source', 'service.customer-app'), _negated=True), fields=['brand', 'id'], name='event_from_outside'), models.Index(condition=models.Q(('source', 'service.customer-app'), _negated=True), fields=['brand', 'detail_type', 'id'], name='event_of_kind'), models.Index(condition=models.Q(models.Q(('source', 'service.customer-app'), _negated=True), ('status__in', ['refused', 'ignored', 'dead'])), fields=['brand', 'status', 'id'], name='event_without_credit')],
                'constraints': [models.UniqueConstraint(fields=('brand', 'source', 'event_id'), name='event_once_per_source'), models.CheckConstraint(condition=models.Q(('status__in', ['pending', 'done', 'refused', 'ignored', 'dead'])), name='event_status_known')],
            },
        ),
    ]
