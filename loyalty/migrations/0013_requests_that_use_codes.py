"""Which request used a code, so that the same one again is told the same."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('loyalty', '0012_notices_and_their_deliveries'),
    ]

    operations = [
        migrations.AddField(
            model_name='redemption',
            name='used_request',
            field=models.UUIDField(blank=True, editable=False, null=True),
        ),
    ]
