"""Foreign keys whose column another index begins with need none of their own."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0002_room_for_updates'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='rewardclaim',
            name='milestone',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='claims', to='campaigns.milestone'),
        ),
        migrations.AlterField(
            model_name='userloyaltycampaign',
            name='user',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='campaign_progress', to=settings.AUTH_USER_MODEL),
        ),
    ]
