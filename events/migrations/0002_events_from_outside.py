"""Events from outside are listed for the brand: the latest first, by kind, and those that earned nothing."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0007_saved_lists'),
        ('events', '0001_initial'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='event',
            index=models.Index(condition=models.Q(('source', 'loyalty.customer-app'), _negated=True), fields=['brand', 'id'], name='event_from_outside'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(condition=models.Q(('source', 'loyalty.customer-app'), _negated=True), fields=['brand', 'detail_type', 'id'], name='event_of_kind'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(condition=models.Q(models.Q(('source', 'loyalty.customer-app'), _negated=True), ('status__in', ['refused', 'ignored', 'dead'])), fields=['brand', 'status', 'id'], name='event_without_credit'),
        ),
    ]
