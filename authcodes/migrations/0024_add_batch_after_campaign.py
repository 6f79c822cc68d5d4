"""What scans earn while their batch's campaign is not running, and scans of products that are no longer sold."""

import authcodes.codes.gtins
import django.core.validators
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("authcodes", "0023_bounds_of_dates_and_times"),
        ('brands', '0014_quotas_of_brands'),
        ('campaigns', '0006_milestone_points_below_ceiling'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='batchrange',
            name='after_campaign',
            field=models.CharField(choices=[('points', 'Scans earn their usual points'), ('nothing', 'Scans earn nothing')], db_default='points', default='points', help_text='What scans earn while the campaign is not running: switched off, ended or not started.', max_length=7, verbose_name='after the campaign'),
        ),
        migrations.AlterField(
            model_name='batchrange',
            name='points_per_scan',
            field=models.PositiveIntegerField(blank=True, help_text="Leave empty for the product's points, else the member level's, else 1 point.", null=True),
        ),
        migrations.AlterField(
            model_name='codelookup',
            name='reason',
            field=models.CharField(choices=[('accepted', 'Accepted'), ('campaign_inactive', 'Accepted; its campaign is not running'), ('product_inactive', 'Accepted; its product is no longer sold'), ('limit_reached', 'Scan limit reached'), ('reserved', 'Reserved for a guest'), ('recalled', 'Batch recalled'), ('unknown', 'Unknown code'), ('bad_tag', 'Signature missing or wrong'), ('other_brand', 'Code of another brand'), ('expired', 'Expired'), ('deactivated', 'Deactivated'), ('unassigned', 'No product assigned')], help_text='What a scan would have been.', max_length=20),
        ),
        migrations.AlterField(
            model_name='product',
            name='gtin',
            field=models.CharField(blank=True, max_length=14, validators=[django.core.validators.RegexValidator('^([0-9]{8}|[0-9]{12,14})$', '8, 12, 13 or 14 digits.'), authcodes.codes.gtins.validate_check_digit]),
        ),
        migrations.AlterField(
            model_name='product',
            name='is_active',
            field=models.BooleanField(default=True, help_text='Clear it for a product no longer sold: its codes stay genuine and scans earn no more points.', verbose_name='sold'),
        ),
        migrations.AlterField(
            model_name='scan',
            name='reason',
            field=models.CharField(choices=[('accepted', 'Accepted'), ('campaign_inactive', 'Accepted; its campaign is not running'), ('product_inactive', 'Accepted; its product is no longer sold'), ('limit_reached', 'Scan limit reached'), ('reserved', 'Reserved for a guest'), ('recalled', 'Batch recalled'), ('unknown', 'Unknown code'), ('bad_tag', 'Signature missing or wrong'), ('other_brand', 'Code of another brand'), ('expired', 'Expired'), ('deactivated', 'Deactivated'), ('unassigned', 'No product assigned')], max_length=20),
        ),
        migrations.AddConstraint(
            model_name='batchrange',
            constraint=models.CheckConstraint(condition=models.Q(('after_campaign__in', ['points', 'nothing'])), name='batch_after_campaign_known'),
        ),
    ]
