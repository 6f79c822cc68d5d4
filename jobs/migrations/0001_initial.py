import core.moments
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
import jobs.kinds
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('brands', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='jobs', to='brands.brand', verbose_name='brand')),
                ('kind', models.CharField(choices=jobs.kinds.choices, max_length=32, verbose_name='kind')),
                ('title', models.CharField(help_text='A short description.', max_length=200, verbose_name='title')),
                ('parameters', models.JSONField(default=dict, editable=False)),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued', max_length=10, verbose_name='status')),
                ('done', models.PositiveBigIntegerField(default=0)),
                ('total', models.PositiveBigIntegerField(default=0)),
                ('log', models.TextField(blank=True, help_text='Messages of the job, one per line.')),
                ('language', models.CharField(blank=True, db_default='', default='', editable=False, help_text='The language of the person who started the job, and so of its messages. English if empty.', max_length=7, verbose_name='language')),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('interruptions', models.PositiveIntegerField(db_default=0, default=0, editable=False, help_text='Attempts that ended because the database was unavailable.', verbose_name='interruptions')),
                ('cancel_requested', models.BooleanField(default=False)),
                ('result', models.FileField(blank=True, max_length=255, upload_to='jobs/%Y/%m/', verbose_name='result')),
                ('result_name', models.CharField(blank=True, help_text="The file's name when it is downloaded.", max_length=200)),
                ('result_bytes', models.PositiveBigIntegerField(db_default=0, default=0, editable=False, verbose_name='result bytes')),
                ('customer', models.ForeignKey(blank=True, db_index=False, help_text='The customer whose data the job exports.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='customer')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='created by')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='created at')),
                ('started_at', core.moments.MomentField(blank=True, null=True, verbose_name='started at')),
                ('alive_at', core.moments.MomentField(blank=True, help_text="The worker's last heartbeat.", null=True)),
                ('finished_at', core.moments.MomentField(blank=True, null=True, verbose_name='finished at')),
                ('expires_at', core.moments.MomentField(blank=True, help_text='The file is deleted after this time.', null=True, verbose_name='expires at')),
            ],
            options={
                'verbose_name': 'job',
                'verbose_name_plural': 'jobs',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['brand', '-id'], name='job_of_brand'), models.Index(fields=['brand', 'created_at'], name='job_of_brand_by_day'), models.Index(condition=models.Q(('status__in', ['queued', 'running'])), fields=['id'], name='job_unfinished'), models.Index(condition=models.Q(('customer__isnull', False)), fields=['customer', 'brand', '-id'], name='job_of_customer')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('customer__isnull', False), ('status__in', ['queued', 'running'])), fields=('brand', 'customer'), name='job_of_customer_once'), models.CheckConstraint(condition=models.Q(('status__in', ['queued', 'running', 'done', 'failed', 'cancelled'])), name='job_status_known')],
            },
        ),
        migrations.CreateModel(
            name='StagedUpload',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('api_key', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.apikey')),
                ('resource', models.CharField(help_text='The label of the model whose rows the file holds.', max_length=60)),
                ('file', models.FileField(max_length=255, upload_to='imports/staged/')),
                ('file_name', models.CharField(max_length=200)),
                ('file_bytes', models.PositiveBigIntegerField()),
                ('sha256', models.CharField(max_length=64)),
                ('status', models.CharField(choices=[('checking', 'Being checked'), ('checked', 'Waits for confirmation'), ('rejected', 'Rejected'), ('importing', 'Being imported'), ('imported', 'Imported')], db_default='checked', default='checked', max_length=10)),
                ('is_large', models.BooleanField(db_default=False, default=False, help_text='A job checks and imports it.')),
                ('job', models.ForeignKey(help_text='The last job that worked on it.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='jobs.job')),
                ('preview', models.JSONField(db_default={}, default=dict, help_text='What the job found that checked it.')),
                ('problem', models.TextField(blank=True, db_default='', help_text='Why it was rejected.')),
                ('expires_at', core.moments.MomentField(db_index=True)),
            ],
            options={
                'ordering': ['-id'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('status__in', ['importing', 'imported']), _negated=True), fields=('user', 'brand', 'resource'), name='one_staged_upload_per_person'), models.UniqueConstraint(condition=models.Q(('status__in', ['importing', 'imported']), _negated=True), fields=('api_key', 'brand', 'resource'), name='one_staged_upload_per_key'), models.CheckConstraint(condition=models.Q(models.Q(('api_key__isnull', False), ('user__isnull', True)), models.Q(('api_key__isnull', True), ('user__isnull', False)), _connector='OR'), name='staged_upload_has_one_uploader'), models.CheckConstraint(condition=models.Q(('status__in', ['checking', 'checked', 'rejected', 'importing', 'imported'])), name='staged_upload_status_known')],
            },
        ),
        migrations.CreateModel(
            name='ReportSchedule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand', verbose_name='brand')),
                ('saved_list', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='schedules', to='brands.savedlist', verbose_name='saved list')),
                ('owner', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='report_schedules', to=settings.AUTH_USER_MODEL, verbose_name='owner')),
                ('frequency', models.CharField(choices=[('daily', 'Daily'), ('weekly', 'Weekly'), ('monthly', 'Monthly')], max_length=10, verbose_name='frequency')),
                ('weekday', models.PositiveSmallIntegerField(choices=[(0, 'Monday'), (1, 'Tuesday'), (2, 'Wednesday'), (3, 'Thursday'), (4, 'Friday'), (5, 'Saturday'), (6, 'Sunday')], default=0, help_text='Only for weekly reports.', verbose_name='weekday')),
                ('day', models.PositiveSmallIntegerField(default=1, help_text='1 to 28. Only for monthly reports.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(28)], verbose_name='day of the month')),
                ('hour', models.PositiveSmallIntegerField(default=7, help_text="0 to 23, in the brand's time zone.", validators=[django.core.validators.MaxValueValidator(23)], verbose_name='hour')),
                ('file_format', models.CharField(choices=[('csv', 'CSV'), ('xlsx', 'Excel (XLSX)'), ('pdf', 'PDF')], default='csv', max_length=4, verbose_name='file')),
                ('is_paused', models.BooleanField(default=False, help_text='No report is sent until you untick this.', verbose_name='paused')),
                ('next_at', core.moments.MomentField(editable=False, verbose_name='next report')),
                ('time_zone', models.CharField(editable=False, help_text="The brand's time zone when the next report was planned.", max_length=64, verbose_name='time zone')),
                ('job', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='jobs.job', verbose_name='last job')),
                ('is_running', models.BooleanField(default=False, editable=False, help_text='The end of its job was not reported yet.', verbose_name='running')),
                ('failures', models.PositiveSmallIntegerField(default=0, editable=False, help_text='Consecutive failures. The third one pauses the schedule.', verbose_name='failures')),
                ('last_error', models.CharField(blank=True, editable=False, max_length=500, verbose_name='last error')),
                ('last_run_at', core.moments.MomentField(editable=False, null=True, verbose_name='last report')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
            ],
            options={
                'verbose_name': 'scheduled report',
                'verbose_name_plural': 'scheduled reports',
                'ordering': ['brand_id', '-id'],
                'indexes': [models.Index(condition=models.Q(('is_paused', False), ('is_running', False)), fields=['next_at', 'id'], name='report_due'), models.Index(condition=models.Q(('is_running', True)), fields=['id'], name='report_running')],
                'constraints': [models.CheckConstraint(condition=models.Q(('frequency__in', ['daily', 'weekly', 'monthly'])), name='report_frequency_known'), models.CheckConstraint(condition=models.Q(('day__gte', 1), ('day__lte', 28), ('hour__lte', 23), ('weekday__lte', 6)), name='report_time_exists'), models.CheckConstraint(condition=models.Q(('file_format__in', ['csv', 'xlsx', 'pdf'])), name='report_format_known')],
            },
        ),
        migrations.CreateModel(
            name='ReportRecipient',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('schedule', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='recipients', to='jobs.reportschedule')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['schedule_id', 'id'],
                'constraints': [models.UniqueConstraint(fields=('schedule', 'user'), name='report_recipient_once')],
            },
        ),
    ]
