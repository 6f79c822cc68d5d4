"""Which request an event follows from. A constant default: PostgreSQL rewrites no row for it."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('loyalty', '0006_what_customers_want_to_hear'),
    ]

    operations = [
        migrations.AddField(
            model_name='event',
            name='request_id',
            field=models.CharField(blank=True, db_default='', default='', help_text='The request that it follows from.', max_length=64),
        ),
    ]
