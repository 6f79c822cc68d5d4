"""Every date and time lies within the bounds of core.moments; what was stored outside of them moves there."""

import django.utils.timezone
import events.models
from django.db import migrations

from core.moments import DayField, MomentField, bring_within


class Migration(migrations.Migration):

    dependencies = [
        ("loyalty", "0026_translated_labels"),
    ]

    operations = [
        migrations.RunSQL(bring_within('loyalty_reward', 'valid_from', 'valid_until'), migrations.RunSQL.noop),
        migrations.RunSQL(bring_within('loyalty_event', '"time"'), migrations.RunSQL.noop),
        migrations.RunSQL(bring_within('loyalty_walletissuer', 'expires_at'), migrations.RunSQL.noop),
        migrations.AlterField(
            model_name='creditedorder',
            name='credited_at',
            field=MomentField(default=django.utils.timezone.now, verbose_name='credited at'),
        ),
        migrations.AlterField(
            model_name='device',
            name='died_at',
            field=MomentField(blank=True, help_text='When the push service said it is gone.', null=True),
        ),
        migrations.AlterField(
            model_name='device',
            name='registered_at',
            field=MomentField(default=django.utils.timezone.now),
        ),
        migrations.AlterField(
            model_name='emailconfirmation',
            name='confirmed_at',
            field=MomentField(null=True, verbose_name='confirmed at'),
        ),
        migrations.AlterField(
            model_name='emailconfirmation',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now),
        ),
        migrations.AlterField(
            model_name='emailconfirmation',
            name='expires_at',
            field=MomentField(db_index=True),
        ),
        migrations.AlterField(
            model_name='event',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='event',
            name='due_at',
            field=MomentField(default=django.utils.timezone.now, help_text='When it may be delivered; a worker that holds it moves this ahead.'),
        ),
        migrations.AlterField(
            model_name='event',
            name='finished_at',
            field=MomentField(blank=True, editable=False, null=True),
        ),
        migrations.AlterField(
            model_name='event',
            name='give_up_at',
            field=MomentField(default=events.models.default_give_up_at, help_text='A failure after this moment is final.'),
        ),
        migrations.AlterField(
            model_name='event',
            name='time',
            field=MomentField(default=django.utils.timezone.now),
        ),
        migrations.AlterField(
            model_name='expiryrun',
            name='day',
            field=DayField(help_text="By the brand's clock."),
        ),
        migrations.AlterField(
            model_name='expiryrun',
            name='finished_at',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='expiryrun',
            name='kept_from',
            field=MomentField(help_text='What was earned before is gone, or about to be.'),
        ),
        migrations.AlterField(
            model_name='expiryrun',
            name='started_at',
            field=MomentField(default=django.utils.timezone.now),
        ),
        migrations.AlterField(
            model_name='expirywarning',
            name='until',
            field=DayField(),
        ),
        migrations.AlterField(
            model_name='externalsystem',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='externalsystem',
            name='previous_secret_ends_at',
            field=MomentField(blank=True, editable=False, null=True),
        ),
        migrations.AlterField(
            model_name='loyaltytransaction',
            name='created_at',
            field=MomentField(db_column='createdAt', default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='loyaltytransaction',
            name='updated_at',
            field=MomentField(db_column='updatedAt', default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='notice',
            name='acknowledged_at',
            field=MomentField(null=True),
        ),
        migrations.AlterField(
            model_name='notice',
            name='closed_at',
            field=MomentField(help_text='From then on nothing is merged into it.', null=True),
        ),
        migrations.AlterField(
            model_name='notice',
            name='opened_at',
            field=MomentField(default=django.utils.timezone.now),
        ),
        migrations.AlterField(
            model_name='noticedelivery',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now),
        ),
        migrations.AlterField(
            model_name='noticedelivery',
            name='finished_at',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='noticepreference',
            name='updated_at',
            field=MomentField(default=django.utils.timezone.now),
        ),
        migrations.AlterField(
            model_name='noticetemplate',
            name='updated_at',
            field=MomentField(auto_now=True),
        ),
        migrations.AlterField(
            model_name='pointsapproval',
            name='decided_at',
            field=MomentField(null=True, verbose_name='decided at'),
        ),
        migrations.AlterField(
            model_name='pointsapproval',
            name='requested_at',
            field=MomentField(default=django.utils.timezone.now, verbose_name='requested at'),
        ),
        migrations.AlterField(
            model_name='redemption',
            name='cancelled_at',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='redemption',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='redemption',
            name='expires_at',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='redemption',
            name='used_at',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='reward',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='reward',
            name='valid_from',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='reward',
            name='valid_until',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='senderdomain',
            name='checked_at',
            field=MomentField(blank=True, editable=False, null=True, verbose_name='checked at'),
        ),
        migrations.AlterField(
            model_name='senderdomain',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='senderdomain',
            name='missing_since',
            field=MomentField(blank=True, editable=False, null=True, verbose_name='missing since'),
        ),
        migrations.AlterField(
            model_name='senderdomain',
            name='verified_at',
            field=MomentField(blank=True, editable=False, null=True, verbose_name='verified at'),
        ),
        migrations.AlterField(
            model_name='stoppedaddress',
            name='stopped_at',
            field=MomentField(default=django.utils.timezone.now),
        ),
        migrations.AlterField(
            model_name='userpoints',
            name='enrolled_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='userpoints',
            name='updated_at',
            field=MomentField(db_column='updatedAt', default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='walletdevice',
            name='registered_at',
            field=MomentField(default=django.utils.timezone.now),
        ),
        migrations.AlterField(
            model_name='walletissuer',
            name='expires_at',
            field=MomentField(blank=True, help_text='When the first of its certificates ends.', null=True),
        ),
        migrations.AlterField(
            model_name='walletissuer',
            name='failed_at',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='walletissuer',
            name='uploaded_at',
            field=MomentField(default=django.utils.timezone.now),
        ),
        migrations.AlterField(
            model_name='walletpass',
            name='busy_until',
            field=MomentField(blank=True, help_text='A worker is talking about it until then.', null=True),
        ),
        migrations.AlterField(
            model_name='walletpass',
            name='changed_at',
            field=MomentField(default=django.utils.timezone.now, help_text='Whole seconds tell versions apart.'),
        ),
        migrations.AlterField(
            model_name='walletpass',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='walletpass',
            name='failed_at',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='walletpass',
            name='fetched_at',
            field=MomentField(blank=True, null=True, verbose_name='last fetch'),
        ),
        migrations.AlterField(
            model_name='walletpass',
            name='pushed_at',
            field=MomentField(blank=True, null=True, verbose_name='last push'),
        ),
        migrations.AlterField(
            model_name='webhookattempt',
            name='at',
            field=MomentField(default=django.utils.timezone.now, verbose_name='when'),
        ),
        migrations.AlterField(
            model_name='webhookdelivery',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='webhookdelivery',
            name='finished_at',
            field=MomentField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='webhookdelivery',
            name='next_attempt_at',
            field=MomentField(blank=True, null=True, verbose_name='next attempt'),
        ),
        migrations.AlterField(
            model_name='webhookendpoint',
            name='created_at',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
        migrations.AlterField(
            model_name='webhookendpoint',
            name='failing_since',
            field=MomentField(blank=True, editable=False, help_text='The first failure since the last success.', null=True),
        ),
        migrations.AlterField(
            model_name='webhookendpoint',
            name='previous_secret_ends_at',
            field=MomentField(blank=True, editable=False, null=True),
        ),
        migrations.AlterField(
            model_name='webhookendpoint',
            name='state_since',
            field=MomentField(default=django.utils.timezone.now, editable=False),
        ),
    ]
