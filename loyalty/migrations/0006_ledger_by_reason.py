"""The ledger is listed by reasons other than earned."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('loyalty', '0005_translations'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='loyaltytransaction',
            index=models.Index(condition=models.Q(('reason', 'earned'), _negated=True), fields=['reason', '-loyalty_transaction_id'], name='ledger_of_reason'),
        ),
    ]
