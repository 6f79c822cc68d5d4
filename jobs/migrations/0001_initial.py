import core.moments
import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
import jobs.kinds
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
            name='Job',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=jobs.kinds.choices, max_length=32)),
                ('title', models.CharField(help_text='A short description.', max_length=200)),
                ('parameters', models.JSONField(default=dict, editable=False)),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued', max_length=10)),
                ('done', models.PositiveBigIntegerField(default=0)),
                ('total', models.PositiveBigIntegerField(default=0)),
                ('log', models.TextField(blank=True, help_text='Messages of the job, one per line.')),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('interruptions', models.PositiveIntegerField(db_default=0, default=0, editable=False, help_text='Attempts that ended because the database was unavailable.', verbose_name='interruptions')),
                ('cancel_requested', models.BooleanField(default=False)),
                ('result', models.FileField(blank=True, max_length=255, upload_to='jobs/%Y/%m/')),
                ('result_name', models.CharField(blank=True, help_text="The file's name when it is downloaded.", max_length=200)),
                ('result_bytes', models.PositiveBigIntegerField(db_default=0, default=0, editable=False, verbose_name='result bytes')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('started_at', core.moments.MomentField(blank=True, null=True)),
                ('alive_at', core.moments.MomentField(blank=True, help_text="The worker's last heartbeat.", null=True)),
                ('finished_at', core.moments.MomentField(blank=True, null=True)),
                ('expires_at', core.moments.MomentField(blank=True, help_text='The file is deleted after this time.', null=True)),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='jobs', to='brands.brand')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('customer', models.ForeignKey(blank=True, db_index=False, help_text='Whose data it exports.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='customer')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(fields=['brand', '-id'], name='job_of_brand'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(fields=['brand', 'created_at'], name='job_of_brand_by_day'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('status__in', ['queued', 'running'])), fields=['id'], name='job_unfinished'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('customer__isnull', False)), fields=['customer', 'brand', '-id'], name='job_of_customer'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(condition=models.Q(('customer__isnull', False), ('status__in', ['queued', 'running'])), fields=('brand', 'customer'), name='job_of_customer_once'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['queued', 'running', 'done', 'failed', 'cancelled'])), name='job_status_known'),
        ),
    ]
