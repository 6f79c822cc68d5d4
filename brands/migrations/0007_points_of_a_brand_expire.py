"""When a brand's points expire, and how early its members are told."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0006_key_of_the_scan_page'),
    ]

    operations = [
        migrations.AddField(
            model_name='brand',
            name='expiry_warning_days',
            field=models.PositiveIntegerField(db_default=14, default=14, help_text='How many days before their points expire members are told; 0: they are not.', validators=[django.core.validators.MaxValueValidator(90)]),
        ),
        migrations.AddField(
            model_name='brand',
            name='points_expire',
            field=models.CharField(choices=[('never', 'Never'), ('days', 'So many days after they were earned'), ('months', 'So many months after they were earned'), ('month_end', 'At the end of a month'), ('year_end', 'At the end of a year')], db_default='never', default='never', max_length=10),
        ),
        migrations.AddField(
            model_name='brand',
            name='points_expire_after',
            field=models.PositiveIntegerField(db_default=0, default=0, help_text='Days or months; at the end of a month or year: of how many later than the one of earning.'),
        ),
        migrations.AddConstraint(
            model_name='brand',
            constraint=models.CheckConstraint(condition=models.Q(('points_expire', 'never'), models.Q(('points_expire', 'days'), ('points_expire_after__range', (1, 3650))), models.Q(('points_expire', 'months'), ('points_expire_after__range', (1, 120))), models.Q(('points_expire', 'month_end'), ('points_expire_after__lte', 120)), models.Q(('points_expire', 'year_end'), ('points_expire_after__lte', 10)), _connector='OR'), name='brand_expiry_makes_sense', violation_error_message='Points expire after 1 to 3,650 days, 1 to 120 months, or 10 years at most.'),
        ),
        migrations.AddConstraint(
            model_name='brand',
            constraint=models.CheckConstraint(condition=models.Q(('expiry_warning_days__lte', 90)), name='brand_expiry_warning_in_time'),
        ),
    ]
