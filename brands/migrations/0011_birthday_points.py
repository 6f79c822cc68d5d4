"""Brands say when birthday points come, and how long before a birthday must be known."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0010_level_periods'),
    ]

    operations = [
        migrations.AddField(
            model_name='brand',
            name='birthday_lead_days',
            field=models.PositiveSmallIntegerField(db_default=30, default=30, help_text='A birthday entered or changed later than this earns from the next year on. Enter 0 for at once.', validators=[django.core.validators.MaxValueValidator(365)], verbose_name='days before a birthday'),
        ),
        migrations.AddField(
            model_name='brand',
            name='birthday_points',
            field=models.CharField(choices=[('day', 'On the birthday'), ('month', "On the first day of the birthday's month")], db_default='day', default='day', help_text='When they come. How many, an earning rule for birthdays says.', max_length=5, verbose_name='birthday points'),
        ),
        migrations.AddConstraint(
            model_name='brand',
            constraint=models.CheckConstraint(condition=models.Q(('birthday_points__in', ['day', 'month'])), name='brand_birthday_points_known'),
        ),
    ]
