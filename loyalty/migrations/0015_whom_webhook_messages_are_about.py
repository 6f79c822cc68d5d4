"""Whom a webhook's message is about, so that it can be found when the person is erased."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('loyalty', '0014_expiry_of_points'),
    ]

    operations = [
        migrations.AddField(
            model_name='webhookdelivery',
            name='user',
            field=models.ForeignKey(blank=True, db_index=False, help_text='The customer whom it is about, if it is about one.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='webhookdelivery',
            name='body',
            field=models.TextField(help_text='What is sent; empty once its person was erased.'),
        ),
        migrations.AlterField(
            model_name='webhookdelivery',
            name='state',
            field=models.CharField(choices=[('waiting', 'Waiting'), ('delivered', 'Delivered'), ('failed', 'Failed: gave up'), ('dropped', 'Not sent: the webhook is disabled, or its person was erased')], default='waiting', max_length=10),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(condition=models.Q(('user__isnull', False)), fields=['user'], name='webhooks_of_a_person'),
        ),
    ]
