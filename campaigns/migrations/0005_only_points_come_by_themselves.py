"""Says what a milestone gives by itself."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0004_say_it_in_words'),
    ]

    operations = [
        migrations.AlterField(
            model_name='milestone',
            name='auto_claim',
            field=models.BooleanField(default=True, help_text='Points are paid at once. A thing waits for the customer to claim it in any case.'),
        ),
    ]
