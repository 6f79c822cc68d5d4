"""Brands say whether their members may give points to each other, and how many a day."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0008_order_points_and_returns'),
    ]

    operations = [
        migrations.AddField(
            model_name='brand',
            name='transfer_daily_limit',
            field=models.PositiveIntegerField(db_default=500, default=500, help_text='To all other members together.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000000)], verbose_name='most points that a member can give in a day'),
        ),
        migrations.AddField(
            model_name='brand',
            name='transfers_allowed',
            field=models.BooleanField(db_default=False, default=False, help_text="In the app, by the number that is on the receiver's wallet pass.", verbose_name='members can give points to each other'),
        ),
    ]
