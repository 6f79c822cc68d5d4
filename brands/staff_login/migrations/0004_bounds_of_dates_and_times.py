"""Every date and time lies within the bounds of core.moments; what was stored outside of them moves there."""

import django.utils.timezone
from django.db import migrations

from core.moments import MomentField


class Migration(migrations.Migration):

    dependencies = [
        ("staff_login", "0003_add_invitations"),
    ]

    operations = [
        migrations.AlterField(
            model_name='factor',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='factor',
            name='last_used_at',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='recoverycode',
            name='used_at',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='staffmail',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='staffmail',
            name='sent_at',
            field=MomentField(blank=True, null=True, verbose_name='sent at'),
        ),
        migrations.AlterField(
            model_name='staffmail',
            name='used_at',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='staffsession',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='staffsession',
            name='last_seen_at',
            field=MomentField(default=django.utils.timezone.now, verbose_name='last seen at'),
        ),
    ]
