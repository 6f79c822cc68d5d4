"""How far the nightly work on expiring points has come."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0007_points_of_a_brand_expire'),
        ('loyalty', '0013_requests_that_use_codes'),
    ]

    operations = [
        migrations.CreateModel(
            name='ExpiryRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('expire', 'Expire points'), ('warn', 'Warn of points about to expire')], max_length=6)),
                ('day', models.DateField(help_text="By the brand's clock.")),
                ('kept_from', models.DateTimeField(help_text='What was earned before is gone, or about to be.')),
                ('reached', models.BigIntegerField(default=0, help_text='The last account that was looked at.')),
                ('members', models.PositiveIntegerField(default=0, help_text='How many lost points, or were warned.')),
                ('points', models.DecimalField(decimal_places=2, default=0, max_digits=16)),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='ExpiryWarning',
            fields=[
                ('user_point', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='loyalty.userpoints')),
                ('until', models.DateField()),
            ],
        ),
        migrations.RemoveConstraint(
            model_name='externalsystem',
            name='refusal_known',
        ),
        migrations.RemoveConstraint(
            model_name='externalsystem',
            name='absence_known',
        ),
        migrations.AddConstraint(
            model_name='externalsystem',
            constraint=models.CheckConstraint(condition=models.Q(('when_refused__in', ['hold', 'proceed', 'refuse'])), name='external_refusal_known'),
        ),
        migrations.AddConstraint(
            model_name='externalsystem',
            constraint=models.CheckConstraint(condition=models.Q(('when_away__in', ['hold', 'proceed'])), name='external_absence_known'),
        ),
        migrations.AddField(
            model_name='expiryrun',
            name='brand',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='expiry_runs', to='brands.brand'),
        ),
        migrations.AddConstraint(
            model_name='expiryrun',
            constraint=models.UniqueConstraint(fields=('brand', 'day', 'kind'), name='one_expiry_run_a_day'),
        ),
        migrations.AddConstraint(
            model_name='expiryrun',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['expire', 'warn'])), name='expiry_run_kind_known'),
        ),
    ]
