"""Members have a number in the brand's own systems, and are found by it, by phone and by the moment of a change."""

import django.contrib.postgres.indexes
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0004_idempotent_requests'),
        ('loyalty', '0002_triggers_and_storage'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='userpoints',
            name='external_id',
            field=models.CharField(blank=True, db_default='', default='', help_text="The member's number in the brand's own systems.", max_length=64, verbose_name='external id'),
        ),
        migrations.AddIndex(
            model_name='notificationpreference',
            index=models.Index(condition=models.Q(('phone', ''), _negated=True), fields=['brand', 'phone'], name='customer_by_phone'),
        ),
        migrations.AddIndex(
            model_name='userpoints',
            index=django.contrib.postgres.indexes.BrinIndex(autosummarize=True, fields=['updated_at'], name='members_by_change', pages_per_range=4),
        ),
        migrations.AddConstraint(
            model_name='userpoints',
            constraint=models.UniqueConstraint(condition=models.Q(('external_id', ''), _negated=True), fields=('brand', 'external_id'), name='external_id_unique_in_brand'),
        ),
    ]
