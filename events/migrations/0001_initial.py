import core.currencies
import core.encryption
import core.moments
import django.contrib.postgres.fields
import django.core.serializers.json
import django.core.validators
import django.db.models.deletion
import django.db.models.expressions
import django.utils.timezone
import events.models
import uuid
from decimal import Decimal
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
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('event_id', models.UUIDField(default=uuid.uuid4, help_text="The envelope's id, unique per source.")),
                ('source', models.CharField(max_length=120)),
                ('detail_type', models.CharField(max_length=64)),
                ('account', models.CharField(blank=True, max_length=64)),
                ('region', models.CharField(blank=True, max_length=64)),
                ('time', core.moments.MomentField(default=django.utils.timezone.now)),
                ('lane', models.CharField(db_default='points', default='points', help_text='Slow kinds of events have lanes of their own.', max_length=10)),
                ('detail', models.JSONField(help_text='Arguments and payload. Never contains a bearer token.')),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('done', 'Done'), ('refused', 'Rejected'), ('ignored', 'Ignored (no handler)'), ('dead', 'Failed')], default='pending', max_length=10)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('crashes', models.PositiveSmallIntegerField(db_default=0, default=0, help_text='Consecutive attempts during which the worker process died.', verbose_name='crashes')),
                ('due_at', core.moments.MomentField(default=django.utils.timezone.now, help_text='When it is due. A worker that leases it postpones this.')),
                ('give_up_at', core.moments.MomentField(default=events.models.default_give_up_at, help_text='A failure after this moment is final.')),
                ('outcome', models.JSONField(blank=True, help_text='The stored response or error.', null=True)),
                ('request_id', models.CharField(blank=True, db_default='', default='', help_text='The request that caused it.', max_length=64)),
                ('last_error', models.TextField(blank=True)),
                ('on_hold_for', models.BigIntegerField(blank=True, help_text='The customer whose confirmed e-mail address it waits for.', null=True, verbose_name='held for')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('finished_at', core.moments.MomentField(blank=True, editable=False, null=True)),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='events', to='brands.brand')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['lane', 'due_at'], name='event_due_in_lane'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(condition=models.Q(('status', 'pending'), models.Q(('lane', 'points'), _negated=True)), fields=['lane', 'brand', 'due_at'], name='event_due_of_brand'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(condition=models.Q(('status', 'dead')), fields=['id'], name='event_dead'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(condition=models.Q(('on_hold_for__isnull', False), ('status', 'pending')), fields=['on_hold_for'], name='event_held'),
        ),
        migrations.AddConstraint(
            model_name='event',
            constraint=models.UniqueConstraint(fields=('brand', 'source', 'event_id'), name='event_once_per_source'),
        ),
        migrations.AddConstraint(
            model_name='event',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['pending', 'done', 'refused', 'ignored', 'dead'])), name='event_status_known'),
        ),
    ]
