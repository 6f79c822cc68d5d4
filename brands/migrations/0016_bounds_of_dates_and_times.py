"""Every date and time lies within the bounds of core.moments; what was stored outside of them moves there."""

import django.utils.timezone
from django.db import migrations

from core.moments import MomentField, bring_within


class Migration(migrations.Migration):

    dependencies = [
        ("brands", "0015_translated_labels"),
    ]

    operations = [
        migrations.RunSQL(bring_within('brands_apikey', 'expires_at'), migrations.RunSQL.noop),
        migrations.AlterField(
            model_name='apikey',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='apikey',
            name='expires_at',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='apikey',
            name='last_used_at',
            field=MomentField(blank=True, editable=False, null=True),
        ),
        migrations.AlterField(
            model_name='apikey',
            name='revoked_at',
            field=MomentField(blank=True, editable=False, null=True),
        ),
        migrations.AlterField(
            model_name='auditentry',
            name='at',
            field=MomentField(default=django.utils.timezone.now, editable=False, verbose_name='when'),
        ),
        migrations.AlterField(
            model_name='brand',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='loginsession',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='loginsession',
            name='expires_at',
            field=MomentField(),
        ),
        migrations.AlterField(
            model_name='loginsession',
            name='revoked_at',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='loginsession',
            name='rotated_at',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='picture',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='user',
            name='date_joined',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='user',
            name='email_verified_at',
            field=MomentField(blank=True, editable=False, help_text='Empty: nobody has proved it theirs.', null=True, verbose_name='address verified'),
        ),
        migrations.AlterField(
            model_name='user',
            name='last_login',
            field=MomentField(blank=True, null=True, verbose_name='last login'),
        ),
    ]
