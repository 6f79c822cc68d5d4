"""Adds the requests that are answered the same again."""

import core.moments
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0003_api_key_scopes'),
    ]

    operations = [
        migrations.CreateModel(
            name='IdempotentRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sender', models.CharField(help_text='key:<id> or user:<id>', max_length=40)),
                ('key', models.CharField(help_text='The Idempotency-Key header.', max_length=255)),
                ('digest', models.BinaryField(help_text='SHA-256 of the method, path and body.', max_length=32)),
                ('status', models.PositiveSmallIntegerField(default=0)),
                ('answer', models.TextField(blank=True, help_text='The body of the answer, JSON.')),
                ('created_at', core.moments.MomentField(db_index=True, default=django.utils.timezone.now, editable=False)),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('customer', models.ForeignKey(help_text='Whom the answer tells about.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-id'],
                'constraints': [models.UniqueConstraint(fields=('brand', 'sender', 'key'), name='idempotency_key_of_sender_once')],
            },
        ),
    ]
