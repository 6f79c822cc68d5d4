"""Names of things as people say them."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0003_audit_trail_is_append_only'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='apikey',
            options={'ordering': ['-created_at', '-id'], 'verbose_name': 'API key'},
        ),
    ]
