"""Foreign keys whose column another index begins with need none of their own: each costs every accrual a write."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0001_people_and_tenants'),
        ('loyalty', '0003_room_for_updates'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='event',
            name='brand',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='events', to='brands.brand'),
        ),
        migrations.AlterField(
            model_name='loyaltytransaction',
            name='user_point',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='transactions', to='loyalty.userpoints'),
        ),
        migrations.AlterField(
            model_name='userpoints',
            name='user',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='points_rows', to=settings.AUTH_USER_MODEL),
        ),
    ]
