"""Brands say when points of orders can be spent, and what a return does to levels and progress."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0007_saved_lists'),
    ]

    operations = [
        migrations.AddField(
            model_name='brand',
            name='after_return',
            field=models.CharField(choices=[('retain', 'Level and progress stay as they are'), ('recompute', 'Both are computed again without the order')], db_default='retain', default='retain', help_text='What becomes of levels and campaign progress. The points of the order go back in any case.', max_length=9, verbose_name='after a return'),
        ),
        migrations.AddField(
            model_name='brand',
            name='order_points',
            field=models.CharField(choices=[('at_once', 'At once'), ('after_days', 'A number of days after the order'), ('after_delivery', "When the order's delivery is confirmed")], db_default='at_once', default='at_once', help_text='When customers can spend them. Until then they are shown as pending.', max_length=14, verbose_name='points of orders'),
        ),
        migrations.AddField(
            model_name='brand',
            name='order_points_days',
            field=models.PositiveSmallIntegerField(db_default=0, default=0, help_text='With delivery: the most days to wait for the confirmation, 0 for no limit.', verbose_name='days pending'),
        ),
        migrations.AddConstraint(
            model_name='brand',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('order_points', 'at_once'), ('order_points_days', 0)), models.Q(('order_points', 'after_days'), ('order_points_days__range', (1, 365))), models.Q(('order_points', 'after_delivery'), ('order_points_days__lte', 365)), _connector='OR'), name='brand_order_points_make_sense', violation_error_message='Points of orders are pending for 1 to 365 days. Enter 0 days where they are credited at once.'),
        ),
        migrations.AddConstraint(
            model_name='brand',
            constraint=models.CheckConstraint(condition=models.Q(('after_return__in', ['retain', 'recompute'])), name='brand_after_return_known'),
        ),
    ]
