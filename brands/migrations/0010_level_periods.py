"""A brand says whether its levels end, and when."""

import django.core.validators
import django.db.models.expressions
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0009_point_transfers'),
    ]

    operations = [
        migrations.AddField(
            model_name='brand',
            name='level_grace_days',
            field=models.PositiveSmallIntegerField(db_default=0, default=0, help_text='So many days after the end, members keep the level and can still earn what is missing.', verbose_name='grace days'),
        ),
        migrations.AddField(
            model_name='brand',
            name='level_period',
            field=models.CharField(choices=[('lifetime', 'For good: all points ever earned count'), ('year', 'By calendar year, from 1 January'), ('half_year', 'By half-year, from 1 January and 1 July'), ('quarter', 'By quarter, from 1 January on'), ('rolling', 'By the last months, for each member')], db_default='lifetime', default='lifetime', help_text='By a period: a level ends, and needs the points of a period again.', max_length=9, verbose_name='members reach levels'),
        ),
        migrations.AddField(
            model_name='brand',
            name='level_period_months',
            field=models.PositiveSmallIntegerField(db_default=12, default=12, help_text='Only if the last months count.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(60)], verbose_name='number of months'),
        ),
        migrations.AddField(
            model_name='brand',
            name='level_warning_days',
            field=models.PositiveSmallIntegerField(db_default=30, default=30, help_text='Members who are about to lose a level hear so many days before what is missing. 0: they do not.', verbose_name='days of warning'),
        ),
        migrations.AddConstraint(
            model_name='brand',
            constraint=models.CheckConstraint(condition=models.Q(('level_period_months__range', (1, 60)), models.Q(('level_period', 'lifetime'), models.Q(('level_grace_days__lt', 365), ('level_period', 'year'), ('level_warning_days__lt', 365)), models.Q(('level_grace_days__lt', 181), ('level_period', 'half_year'), ('level_warning_days__lt', 181)), models.Q(('level_grace_days__lt', 90), ('level_period', 'quarter'), ('level_warning_days__lt', 90)), models.Q(('level_grace_days__lt', django.db.models.expressions.CombinedExpression(models.F('level_period_months'), '*', models.Value(28))), ('level_period', 'rolling'), ('level_warning_days__lt', django.db.models.expressions.CombinedExpression(models.F('level_period_months'), '*', models.Value(28)))), _connector='OR')), name='brand_level_period_makes_sense', violation_error_message='The grace days and the days of warning must each be fewer than the days of the period.'),
        ),
    ]
