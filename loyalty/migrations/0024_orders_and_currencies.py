"""Currencies that brands count, and whom each order was credited to: so far whoever came first."""

import core.currencies
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


# Of orders that several customers were credited for, the first keeps it; what the others have they keep.
FILL = """
    INSERT INTO loyalty_creditedorder (brand_id, order_id, user_id, credited_at)
    SELECT DISTINCT ON (a.brand_id, t.reason_id) a.brand_id, substr(t.reason_id, 7), a.user_id, t."createdAt"
      FROM loyalty_transaction t JOIN user_points a USING (user_point_id)
     WHERE t.reason_id LIKE 'order:%' AND t.reason = 'earned' AND length(t.reason_id) <= 206
     ORDER BY a.brand_id, t.reason_id, t.loyalty_transaction_id
"""


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0013_currency_of_a_brand'),
        ('loyalty', '0023_sender_domains'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='CreditedOrder',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('order_id', models.CharField(max_length=200)),
                ('credited_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='brands.brand')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-id'],
                'constraints': [models.UniqueConstraint(fields=('brand', 'order_id'), name='order_credited_to_one')],
            },
        ),
        migrations.CreateModel(
            name='CurrencyRate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('currency', models.CharField(help_text='Such as USD.', max_length=3, validators=[core.currencies.validate])),
                ('rate', models.DecimalField(decimal_places=8, help_text="How much of the brand's own currency one of this is worth.", max_digits=18, validators=[django.core.validators.MinValueValidator(0)])),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
            ],
            options={
                'verbose_name': 'currency rate',
                'verbose_name_plural': 'currency rates',
                'ordering': ['brand_id', 'currency'],
                'constraints': [models.UniqueConstraint(fields=('brand', 'currency'), name='one_rate_per_currency'), models.CheckConstraint(condition=models.Q(('rate__gt', 0)), name='currency_rate_positive')],
            },
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
