"""Scheduled reports may be PDFs."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0007_saved_lists'),
        ('jobs', '0004_uploads_of_jobs_and_keys'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='reportschedule',
            name='report_format_known',
        ),
        migrations.AlterField(
            model_name='reportschedule',
            name='file_format',
            field=models.CharField(choices=[('csv', 'CSV'), ('xlsx', 'Excel (XLSX)'), ('pdf', 'PDF')], default='csv', max_length=4, verbose_name='file'),
        ),
        migrations.AddConstraint(
            model_name='reportschedule',
            constraint=models.CheckConstraint(condition=models.Q(('file_format__in', ['csv', 'xlsx', 'pdf'])), name='report_format_known'),
        ),
    ]
