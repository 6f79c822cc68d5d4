"""Every date and time lies within the bounds of core.moments; what was stored outside of them moves there."""

import django.utils.timezone
from django.db import migrations

from core.moments import DayField, MomentField, bring_within


class Migration(migrations.Migration):

    dependencies = [
        ("authcodes", "0022_translated_labels"),
    ]

    operations = [
        migrations.RunSQL(bring_within('authcodes_batchrange', 'expiration_date'), migrations.RunSQL.noop),
        migrations.AlterField(
            model_name='authcode',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='authcode',
            name='deactivated_at',
            field=MomentField(blank=True, editable=False, null=True),
        ),
        migrations.AlterField(
            model_name='authcode',
            name='first_scan_at',
            field=MomentField(blank=True, editable=False, null=True),
        ),
        migrations.AlterField(
            model_name='batchrange',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='batchrange',
            name='expiration_date',
            field=DayField(blank=True, help_text="The last day, in the brand's time zone.", null=True),
        ),
        migrations.AlterField(
            model_name='cellrollup',
            name='day',
            field=DayField(help_text="In the brand's time zone."),
        ),
        migrations.AlterField(
            model_name='codechange',
            name='changed_at',
            field=MomentField(default=django.utils.timezone.now, verbose_name='when'),
        ),
        migrations.AlterField(
            model_name='codelookup',
            name='looked_up_at',
            field=MomentField(db_index=True, default=django.utils.timezone.now, verbose_name='looked up at'),
        ),
        migrations.AlterField(
            model_name='codeprefix',
            name='reserved_at',
            field=MomentField(default=django.utils.timezone.now, editable=False, verbose_name='reserved at'),
        ),
        migrations.AlterField(
            model_name='dayrollup',
            name='day',
            field=DayField(help_text="In the brand's time zone."),
        ),
        migrations.AlterField(
            model_name='import',
            name='committed_at',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='import',
            name='undone_at',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='import',
            name='uploaded_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='job',
            name='alive_at',
            field=MomentField(blank=True, help_text='When its worker last gave a sign.', null=True),
        ),
        migrations.AlterField(
            model_name='job',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='job',
            name='expires_at',
            field=MomentField(blank=True, help_text='From then on the file is gone.', null=True),
        ),
        migrations.AlterField(
            model_name='job',
            name='finished_at',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='job',
            name='started_at',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='liftedrecall',
            name='lifted_at',
            field=MomentField(default=django.utils.timezone.now),
        ),
        migrations.AlterField(
            model_name='liftedrecall',
            name='recalled_at',
            field=MomentField(),
        ),
        migrations.AlterField(
            model_name='placerollup',
            name='day',
            field=DayField(help_text="In the brand's time zone."),
        ),
        migrations.AlterField(
            model_name='printrun',
            name='started_at',
            field=MomentField(default=django.utils.timezone.now, verbose_name='when'),
        ),
        migrations.AlterField(
            model_name='product',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='recall',
            name='recalled_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='rollupmark',
            name='until',
            field=DayField(null=True),
        ),
        migrations.AlterField(
            model_name='scan',
            name='located_at',
            field=MomentField(null=True),
        ),
        migrations.AlterField(
            model_name='scan',
            name='scanned_at',
            field=MomentField(default=django.utils.timezone.now),
        ),
        migrations.AlterField(
            model_name='scannerrollup',
            name='day',
            field=DayField(help_text="In the brand's time zone."),
        ),
        migrations.AlterField(
            model_name='vainattempt',
            name='day',
            field=DayField(help_text="In the brand's time zone."),
        ),
    ]
