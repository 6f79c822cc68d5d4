"""How many pages of the finished file a print run read again."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('authcodes', '0012_error_correction_and_printers'),
    ]

    operations = [
        migrations.AddField(
            model_name='printrun',
            name='pages_read',
            field=models.PositiveIntegerField(blank=True, help_text='How many pages were read again from the finished file.', null=True),
        ),
    ]
