"""What closed days add up to, and the indexes that the dashboard's filters by status need."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('authcodes', '0004_lifted_recalls'),
        ('brands', '0001_people_and_tenants'),
        ('campaigns', '0002_room_for_updates'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='RollupMark',
            fields=[
                ('brand', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='brands.brand')),
                ('time_zone', models.CharField(max_length=64)),
                ('until', models.DateField(null=True)),
            ],
            options={
                'verbose_name': 'rollup mark',
            },
        ),
        migrations.CreateModel(
            name='CellRollup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField(help_text="In the brand's time zone.")),
                ('accepted', models.PositiveIntegerField()),
                ('first_scans', models.PositiveIntegerField(help_text="Accepted scans that were their code's first.")),
                ('warnings', models.PositiveIntegerField()),
                ('errors', models.PositiveIntegerField()),
                ('recalled', models.PositiveIntegerField(help_text='Those of the warnings that were scans of a recalled batch.')),
                ('points', models.DecimalField(decimal_places=2, max_digits=16)),
                ('unsettled', models.PositiveIntegerField(help_text='Scans whose points or place were still to come.')),
                ('location', models.CharField(blank=True, max_length=200)),
                ('batch', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authcodes.batchrange')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('campaign', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='campaigns.campaign')),
                ('product', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authcodes.product')),
            ],
            options={
                'indexes': [models.Index(fields=['brand', 'day'], name='cell_rollup_of_brand'), models.Index(fields=['brand', 'location', 'day'], name='cell_rollup_of_place'), models.Index(fields=['brand', 'campaign', 'day'], name='cell_rollup_of_campaign')],
            },
        ),
        migrations.CreateModel(
            name='DayRollup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField(help_text="In the brand's time zone.")),
                ('accepted', models.PositiveIntegerField()),
                ('first_scans', models.PositiveIntegerField(help_text="Accepted scans that were their code's first.")),
                ('warnings', models.PositiveIntegerField()),
                ('errors', models.PositiveIntegerField()),
                ('recalled', models.PositiveIntegerField(help_text='Those of the warnings that were scans of a recalled batch.')),
                ('points', models.DecimalField(decimal_places=2, max_digits=16)),
                ('unsettled', models.PositiveIntegerField(help_text='Scans whose points or place were still to come.')),
                ('batch', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authcodes.batchrange')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('campaign', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='campaigns.campaign')),
                ('product', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authcodes.product')),
            ],
            options={
                'indexes': [models.Index(fields=['brand', 'day'], name='day_rollup_of_brand'), models.Index(condition=models.Q(('unsettled__gt', 0)), fields=['brand', 'day'], name='day_rollup_unsettled')],
            },
        ),
        migrations.CreateModel(
            name='PlaceRollup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField(help_text="In the brand's time zone.")),
                ('accepted', models.PositiveIntegerField()),
                ('first_scans', models.PositiveIntegerField(help_text="Accepted scans that were their code's first.")),
                ('warnings', models.PositiveIntegerField()),
                ('errors', models.PositiveIntegerField()),
                ('recalled', models.PositiveIntegerField(help_text='Those of the warnings that were scans of a recalled batch.')),
                ('points', models.DecimalField(decimal_places=2, max_digits=16)),
                ('unsettled', models.PositiveIntegerField(help_text='Scans whose points or place were still to come.')),
                ('location', models.CharField(blank=True, max_length=200)),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('brand', 'day', 'location'), name='place_rollup_once')],
            },
        ),
        migrations.CreateModel(
            name='Scanner',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('accepted', models.BooleanField()),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('brand', 'user'), include=('accepted',), name='scanner_once')],
            },
        ),
        migrations.CreateModel(
            name='ScannerRollup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField(help_text="In the brand's time zone.")),
                ('location', models.CharField(blank=True, max_length=200)),
                ('accepted', models.BooleanField()),
                ('batch', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authcodes.batchrange')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('campaign', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='campaigns.campaign')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['brand', 'day'], include=('user', 'accepted'), name='scanner_of_day'), models.Index(fields=['brand', 'location', 'day'], name='scanner_of_place'), models.Index(fields=['brand', 'campaign', 'day'], include=('user', 'accepted'), name='scanner_of_campaign'), models.Index(fields=['brand', 'batch', 'day'], include=('user', 'accepted'), name='scanner_of_batch')],
            },
        ),
        # For the dashboard's filters by status. Codes: not on what a scan updates, so that scans stay heap-only updates.
        # Scans: only those that were not accepted, whole, so that they are read from the index alone.
        migrations.RunSQL(
            """
            CREATE INDEX auth_code_unassigned ON authcodes_authcode (brand_id, batch_id) WHERE product_id IS NULL;
            CREATE INDEX auth_code_deactivated ON authcodes_authcode (brand_id, batch_id)
                WHERE deactivated_at IS NOT NULL;
            CREATE INDEX scan_not_accepted ON authcodes_scan (brand_id, scanned_at)
                INCLUDE (auth_code_id, user_id, batch_id, campaign_id, product_id, location, outcome, reason)
                WHERE outcome <> 'success';
            """,
            """
            DROP INDEX auth_code_unassigned;
            DROP INDEX auth_code_deactivated;
            DROP INDEX scan_not_accepted;
            """,
        ),
    ]
