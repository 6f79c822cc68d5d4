"""Adds reports on a schedule, and who gets them."""


import core.moments
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0007_saved_lists'),
        ('jobs', '0002_staged_upload'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ReportSchedule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('frequency', models.CharField(choices=[('daily', 'Daily'), ('weekly', 'Weekly'), ('monthly', 'Monthly')], max_length=10, verbose_name='frequency')),
                ('weekday', models.PositiveSmallIntegerField(choices=[(0, 'Monday'), (1, 'Tuesday'), (2, 'Wednesday'), (3, 'Thursday'), (4, 'Friday'), (5, 'Saturday'), (6, 'Sunday')], default=0, help_text='Only for weekly reports.', verbose_name='weekday')),
                ('day', models.PositiveSmallIntegerField(default=1, help_text='1 to 28. Only for monthly reports.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(28)], verbose_name='day of the month')),
                ('hour', models.PositiveSmallIntegerField(default=7, help_text="0 to 23, in the brand's time zone.", validators=[django.core.validators.MaxValueValidator(23)], verbose_name='hour')),
                ('file_format', models.CharField(choices=[('csv', 'CSV'), ('xlsx', 'Excel (XLSX)')], default='csv', max_length=4, verbose_name='file')),
                ('is_paused', models.BooleanField(default=False, help_text='No report is sent until you untick this.', verbose_name='paused')),
                ('next_at', core.moments.MomentField(editable=False, verbose_name='next report')),
                ('time_zone', models.CharField(editable=False, help_text="The brand's, when the next report was planned.", max_length=64, verbose_name='time zone')),
                ('is_running', models.BooleanField(default=False, editable=False, help_text='The end of its job was not reported yet.', verbose_name='running')),
                ('failures', models.PositiveSmallIntegerField(default=0, editable=False, help_text='In a row; the third one pauses the schedule.', verbose_name='failures')),
                ('last_error', models.CharField(blank=True, editable=False, max_length=500, verbose_name='last error')),
                ('last_run_at', core.moments.MomentField(editable=False, null=True, verbose_name='last report')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand', verbose_name='brand')),
                ('job', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='jobs.job', verbose_name='last job')),
                ('owner', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='report_schedules', to=settings.AUTH_USER_MODEL, verbose_name='owner')),
                ('saved_list', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='schedules', to='brands.savedlist', verbose_name='saved list')),
            ],
            options={
                'verbose_name': 'scheduled report',
                'verbose_name_plural': 'scheduled reports',
                'ordering': ['brand_id', '-id'],
            },
        ),
        migrations.CreateModel(
            name='ReportRecipient',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('schedule', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='recipients', to='jobs.reportschedule')),
            ],
            options={
                'ordering': ['schedule_id', 'id'],
            },
        ),
        migrations.AddIndex(
            model_name='reportschedule',
            index=models.Index(condition=models.Q(('is_paused', False), ('is_running', False)), fields=['next_at', 'id'], name='report_due'),
        ),
        migrations.AddIndex(
            model_name='reportschedule',
            index=models.Index(condition=models.Q(('is_running', True)), fields=['id'], name='report_running'),
        ),
        migrations.AddConstraint(
            model_name='reportschedule',
            constraint=models.CheckConstraint(condition=models.Q(('frequency__in', ['daily', 'weekly', 'monthly'])), name='report_frequency_known'),
        ),
        migrations.AddConstraint(
            model_name='reportschedule',
            constraint=models.CheckConstraint(condition=models.Q(('day__gte', 1), ('day__lte', 28), ('hour__lte', 23), ('weekday__lte', 6)), name='report_time_exists'),
        ),
        migrations.AddConstraint(
            model_name='reportschedule',
            constraint=models.CheckConstraint(condition=models.Q(('file_format__in', ['csv', 'xlsx'])), name='report_format_known'),
        ),
        migrations.AddConstraint(
            model_name='reportrecipient',
            constraint=models.UniqueConstraint(fields=('schedule', 'user'), name='report_recipient_once'),
        ),
    ]
