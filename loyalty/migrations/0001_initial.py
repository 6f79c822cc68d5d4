import core.currencies
import core.encryption
import core.moments
import django.contrib.postgres.fields
import django.core.serializers.json
import django.core.validators
import django.db.models.deletion
import django.db.models.expressions
import django.utils.timezone
import uuid
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('brands', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='UserPoints',
            fields=[
                ('user_point_id', models.BigAutoField(primary_key=True, serialize=False)),
                ('points', models.DecimalField(decimal_places=2, default=Decimal('0'), help_text='Current balance.', max_digits=14)),
                ('points_earned', models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=14)),
                ('points_redeemed', models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=14)),
                ('points_expired', models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=14)),
                ('points_returned', models.DecimalField(db_default=Decimal('0'), decimal_places=2, default=Decimal('0'), help_text='Earned points that were refunded from cancelled redemptions. They do not count towards a level.', max_digits=14)),
                ('current_level', models.CharField(blank=True, help_text='Name of the level. Empty means the lowest level.', max_length=60)),
                ('status', models.CharField(choices=[('active', 'Active'), ('blocked', 'Blocked')], default='active', max_length=10)),
                ('first_name', models.CharField(blank=True, max_length=150, null=True, verbose_name='first name')),
                ('last_name', models.CharField(blank=True, max_length=150, null=True, verbose_name='last name')),
                ('enrolled_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', core.moments.MomentField(db_column='updatedAt', default=django.utils.timezone.now, editable=False)),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='members', to='brands.brand')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='points_rows', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'member',
                'db_table': 'user_points',
                'ordering': ['-user_point_id'],
            },
        ),
        migrations.CreateModel(
            name='BrandLevel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60)),
                ('threshold', models.DecimalField(decimal_places=2, default=Decimal('0'), help_text='Lifetime points needed to reach this level.', max_digits=12, validators=[django.core.validators.MinValueValidator(0)])),
                ('scan_reward_type', models.CharField(choices=[('points', 'Fixed points'), ('percentage', 'Percent of the amount')], default='points', max_length=10)),
                ('scan_reward_value', models.DecimalField(decimal_places=2, default=Decimal('1'), max_digits=10, validators=[django.core.validators.MinValueValidator(0)])),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='levels', to='brands.brand')),
            ],
            options={
                'ordering': ['brand_id', 'threshold'],
            },
        ),
        migrations.CreateModel(
            name='Consent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('terms_url', models.CharField(blank=True, max_length=500, verbose_name='terms')),
                ('privacy_url', models.CharField(blank=True, max_length=500, verbose_name='privacy notice')),
                ('consented_at', core.moments.MomentField(default=django.utils.timezone.now, verbose_name='consented at')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'consent',
                'verbose_name_plural': 'consents',
                'ordering': ['-consented_at', '-id'],
            },
        ),
        migrations.CreateModel(
            name='CreditedOrder',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('order_id', models.CharField(max_length=200, verbose_name='order id')),
                ('credited_at', core.moments.MomentField(default=django.utils.timezone.now, verbose_name='credited at')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='brands.brand')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'credited order',
                'verbose_name_plural': 'credited orders',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='CurrencyRate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('currency', models.CharField(help_text='Such as USD.', max_length=3, validators=[core.currencies.validate], verbose_name='currency')),
                ('rate', models.DecimalField(decimal_places=8, help_text="How much one unit of this currency is worth in the brand's currency.", max_digits=18, validators=[django.core.validators.MinValueValidator(0)], verbose_name='rate')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
            ],
            options={
                'verbose_name': 'currency rate',
                'verbose_name_plural': 'currency rates',
                'ordering': ['brand_id', 'currency'],
            },
        ),
        migrations.CreateModel(
            name='Device',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token', models.CharField(max_length=1024)),
                ('platform', models.CharField(choices=[('android', 'Android'), ('ios', 'iOS'), ('web', 'Web')], max_length=10)),
                ('registered_at', core.moments.MomentField(default=django.utils.timezone.now)),
                ('died_at', core.moments.MomentField(blank=True, help_text='When the push service reported it as gone.', null=True)),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='EmailConfirmation',
            fields=[
                ('confirmation_id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='confirmation id')),
                ('email', models.EmailField(max_length=254)),
                ('previous_email', models.EmailField(blank=True, db_default='', max_length=254, verbose_name='previous e-mail address')),
                ('reserved_user_id', models.BigIntegerField(null=True, verbose_name='reserved user id')),
                ('password', models.CharField(blank=True, max_length=128, verbose_name='password')),
                ('first_name', models.CharField(blank=True, max_length=150)),
                ('last_name', models.CharField(blank=True, max_length=150)),
                ('terms_url', models.CharField(blank=True, db_default='', max_length=500, verbose_name='terms')),
                ('privacy_url', models.CharField(blank=True, db_default='', max_length=500, verbose_name='privacy notice')),
                ('tries', models.PositiveSmallIntegerField(default=0, verbose_name='tries')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now)),
                ('expires_at', core.moments.MomentField(db_index=True)),
                ('confirmed_at', core.moments.MomentField(null=True, verbose_name='confirmed at')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'email confirmation',
                'verbose_name_plural': 'email confirmations',
                'ordering': ['-created_at', 'confirmation_id'],
            },
        ),
        migrations.CreateModel(
            name='ExpiryRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('expire', 'Expire points'), ('warn', 'Warn of points about to expire')], max_length=6)),
                ('day', core.moments.DayField(help_text="In the brand's time zone.")),
                ('retained_from', core.moments.MomentField(help_text='Points earned before this day have expired or are about to.')),
                ('reached', models.BigIntegerField(default=0, help_text='The last account that was checked.')),
                ('members', models.PositiveIntegerField(default=0, help_text='Accounts that lost points or were warned.')),
                ('points', models.DecimalField(decimal_places=2, default=0, max_digits=16)),
                ('started_at', core.moments.MomentField(default=django.utils.timezone.now)),
                ('finished_at', core.moments.MomentField(blank=True, null=True)),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='expiry_runs', to='brands.brand')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='ExpiryWarning',
            fields=[
                ('user_point', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='loyalty.userpoints')),
                ('until', core.moments.DayField()),
            ],
        ),
        migrations.CreateModel(
            name='ExternalSystem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('secret', core.encryption.EncryptedTextField(editable=False)),
                ('previous_secret', core.encryption.EncryptedTextField(blank=True, editable=False)),
                ('previous_secret_ends_at', core.moments.MomentField(blank=True, editable=False, null=True)),
                ('url', models.CharField(help_text='An https address. It receives POST requests with a signed JSON body.', max_length=500, verbose_name='address')),
                ('is_active', models.BooleanField(default=True, help_text='If unticked, points are credited without asking it.', verbose_name='active')),
                ('when_rejected', models.CharField(choices=[('hold', 'Hold the event and try again later'), ('proceed', 'Credit the points anyway'), ('refuse', 'Credit nothing (its decision is final)')], default='hold', max_length=10, verbose_name='when it rejects')),
                ('when_away', models.CharField(choices=[('hold', 'Hold the event and try again later'), ('proceed', 'Credit the points anyway')], default='hold', max_length=10, verbose_name='when it does not respond')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('brand', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='external_system', to='brands.brand')),
            ],
            options={
                'verbose_name': 'external loyalty system',
                'ordering': ['brand_id'],
            },
        ),
        migrations.CreateModel(
            name='LoyaltyTransaction',
            fields=[
                ('loyalty_transaction_id', models.BigAutoField(primary_key=True, serialize=False)),
                ('points_earned', models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=10)),
                ('points_redeemed', models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=10)),
                ('points_expired', models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=10)),
                ('reason', models.CharField(choices=[('earned', 'Earned'), ('redeemed', 'Redeemed'), ('expired', 'Expired')], max_length=50)),
                ('reason_id', models.CharField(help_text='For scans the auth code, else a namespaced id.', max_length=255)),
                ('note', models.TextField(blank=True, help_text='Shown to the customer.')),
                ('created_at', core.moments.MomentField(db_column='createdAt', default=django.utils.timezone.now, editable=False)),
                ('updated_at', core.moments.MomentField(db_column='updatedAt', default=django.utils.timezone.now, editable=False)),
                ('user_point', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='transactions', to='loyalty.userpoints')),
            ],
            options={
                'verbose_name': 'ledger entry',
                'verbose_name_plural': 'ledger entries',
                'db_table': 'loyalty_transaction',
                'ordering': ['-loyalty_transaction_id'],
            },
        ),
        migrations.CreateModel(
            name='Notification',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('template', models.CharField(choices=[('NOTIFY_CAMPAIGN_SUCCESS', 'Points earned'), ('NOTIFY_LEVEL_REACHED', 'Level reached'), ('NOTIFY_REWARD_AVAILABLE', 'Reward available'), ('NOTIFY_POINTS_EXPIRING', 'Points expire soon'), ('NOTIFY_RECALL', 'Product recall'), ('NOTIFY_PASSWORD_FORGOTTEN', 'Forgotten password'), ('NOTIFY_EMAIL_CONFIRMATION', 'Confirm an e-mail address'), ('NOTIFY_ALREADY_REGISTERED', 'Already registered'), ('NOTIFY_LOGIN_PAUSED', 'Logins from new devices paused'), ('NOTIFY_EMAIL_CHANGE', 'Confirm a new e-mail address'), ('NOTIFY_EMAIL_CHANGE_NOTICE', 'E-mail address about to change')], max_length=32, verbose_name='notification')),
                ('key', models.CharField(blank=True, help_text='What it is sent once for; blank while more is merged into it.', max_length=120)),
                ('payload', models.JSONField(default=dict)),
                ('covers', models.JSONField(default=list)),
                ('is_test', models.BooleanField(default=False)),
                ('opened_at', core.moments.MomentField(default=django.utils.timezone.now)),
                ('closed_at', core.moments.MomentField(help_text='From then on nothing is merged into it.', null=True)),
                ('acknowledged_at', core.moments.MomentField(null=True)),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='brands.brand')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='NotificationDelivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('delivery_id', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('template', models.CharField(choices=[('NOTIFY_CAMPAIGN_SUCCESS', 'Points earned'), ('NOTIFY_LEVEL_REACHED', 'Level reached'), ('NOTIFY_REWARD_AVAILABLE', 'Reward available'), ('NOTIFY_POINTS_EXPIRING', 'Points expire soon'), ('NOTIFY_RECALL', 'Product recall'), ('NOTIFY_PASSWORD_FORGOTTEN', 'Forgotten password'), ('NOTIFY_EMAIL_CONFIRMATION', 'Confirm an e-mail address'), ('NOTIFY_ALREADY_REGISTERED', 'Already registered'), ('NOTIFY_LOGIN_PAUSED', 'Logins from new devices paused'), ('NOTIFY_EMAIL_CHANGE', 'Confirm a new e-mail address'), ('NOTIFY_EMAIL_CHANGE_NOTICE', 'E-mail address about to change')], max_length=32, verbose_name='notification')),
                ('channel', models.CharField(choices=[('email', 'E-mail'), ('sms', 'SMS'), ('push', 'Push')], max_length=5)),
                ('language', models.CharField(choices=[('en', 'English'), ('de', 'German'), ('ar', 'Arabic')], max_length=5)),
                ('address', core.encryption.EncryptedTextField(blank=True, editable=False)),
                ('masked_address', models.CharField(max_length=120, verbose_name='address')),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('sent', 'Sent'), ('failed', 'Failed'), ('suppressed', 'Suppressed'), ('bounced', 'Bounced')], default='queued', max_length=10)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('event_id', models.UUIDField(help_text='The event that caused it.')),
                ('provider_id', models.CharField(blank=True, help_text='The id at the mail, SMS or push service.', max_length=255)),
                ('last_error', models.TextField(blank=True)),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now)),
                ('finished_at', core.moments.MomentField(blank=True, null=True)),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='brands.brand')),
                ('device', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='loyalty.device')),
                ('notification', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='loyalty.notification')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'notification',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='NotificationPreference',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('language', models.CharField(blank=True, choices=[('en', 'English'), ('de', 'German'), ('ar', 'Arabic')], max_length=5)),
                ('phone', models.CharField(blank=True, max_length=16, validators=[django.core.validators.RegexValidator('^\\+[1-9][0-9]{6,14}\\Z', 'Enter the number with its country code, such as +4930123456.')])),
                ('opted_out', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), default=list, help_text='topic/channel, each.', size=None)),
                ('updated_at', core.moments.MomentField(default=django.utils.timezone.now)),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='NotificationSettings',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('is_active', models.BooleanField(default=True, help_text='If unticked, only recalls and account messages are sent, by e-mail.', verbose_name='send notifications')),
                ('language', models.CharField(choices=[('en', 'English'), ('de', 'German'), ('ar', 'Arabic')], default='en', help_text='For customers who have not chosen a language.', max_length=5)),
                ('merge_seconds', models.PositiveIntegerField(default=60, help_text='Points earned within this many seconds are combined into one notification.', validators=[django.core.validators.MaxValueValidator(3600)])),
                ('email_on', models.BooleanField(default=True, verbose_name='e-mail')),
                ('sender_name', models.CharField(blank=True, help_text="Shown next to a verified sender address. Leave empty for the brand's name.", max_length=120)),
                ('sender_address', models.EmailField(blank=True, help_text="Used once its domain is verified under Sender domains. Until then, e-mails come from the installation's address and replies go to this one. The domain must allow this installation's mail server (SPF, DKIM).", max_length=254)),
                ('reply_to', models.EmailField(blank=True, help_text="Leave empty for the brand's support address.", max_length=254)),
                ('sms_on', models.BooleanField(default=False, verbose_name='SMS')),
                ('twilio_account_sid', models.CharField(blank=True, max_length=34, validators=[django.core.validators.RegexValidator('^AC[0-9a-f]{32}\\Z', 'It begins with AC and has 34 letters and digits.')], verbose_name='Twilio account SID')),
                ('twilio_auth_token', core.encryption.EncryptedTextField(blank=True, verbose_name='Twilio auth token')),
                ('sms_sender', models.CharField(blank=True, max_length=34, validators=[django.core.validators.RegexValidator('^(\\+[1-9][0-9]{6,14}|MG[0-9a-f]{32}|[A-Za-z0-9 ]{1,11})\\Z', "A number with its country, a messaging service's SID, or a name of up to 11 letters and digits.")], verbose_name='SMS sender')),
                ('push_on', models.BooleanField(default=False, verbose_name='push')),
                ('fcm_service_account', core.encryption.EncryptedTextField(blank=True, help_text="The JSON file from Google's console.", verbose_name='Firebase service account')),
                ('brand', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='notice_settings', to='brands.brand')),
            ],
            options={
                'verbose_name': 'notification settings',
                'verbose_name_plural': 'notification settings',
                'ordering': ['brand_id'],
            },
        ),
        migrations.CreateModel(
            name='NotificationTemplate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('template', models.CharField(choices=[('NOTIFY_CAMPAIGN_SUCCESS', 'Points earned'), ('NOTIFY_LEVEL_REACHED', 'Level reached'), ('NOTIFY_REWARD_AVAILABLE', 'Reward available'), ('NOTIFY_POINTS_EXPIRING', 'Points expire soon'), ('NOTIFY_RECALL', 'Product recall'), ('NOTIFY_PASSWORD_FORGOTTEN', 'Forgotten password'), ('NOTIFY_EMAIL_CONFIRMATION', 'Confirm an e-mail address'), ('NOTIFY_ALREADY_REGISTERED', 'Already registered'), ('NOTIFY_LOGIN_PAUSED', 'Logins from new devices paused'), ('NOTIFY_EMAIL_CHANGE', 'Confirm a new e-mail address'), ('NOTIFY_EMAIL_CHANGE_NOTICE', 'E-mail address about to change')], max_length=32, verbose_name='notification')),
                ('channel', models.CharField(choices=[('email', 'E-mail'), ('sms', 'SMS'), ('push', 'Push')], max_length=5)),
                ('language', models.CharField(choices=[('en', 'English'), ('de', 'German'), ('ar', 'Arabic')], max_length=5)),
                ('subject', models.CharField(blank=True, help_text='Subject of an e-mail or title of a push message. An SMS has none.', max_length=200)),
                ('body', models.TextField()),
                ('updated_at', core.moments.MomentField(auto_now=True)),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
            ],
            options={
                'verbose_name': 'notification template',
                'ordering': ['brand_id', 'template', 'channel', 'language'],
            },
        ),
        migrations.CreateModel(
            name='PointsApproval',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(help_text="The row's model: app.model", max_length=60)),
                ('row_id', models.BigIntegerField()),
                ('row_name', models.CharField(max_length=200, verbose_name='what')),
                ('values', models.JSONField(encoder=django.core.serializers.json.DjangoJSONEncoder, help_text='The value of each field once approved.', verbose_name='requested')),
                ('max_total', models.DecimalField(decimal_places=0, help_text='Codes x points x scans, if every code is scanned as often as allowed.', max_digits=40, null=True, verbose_name='total points at most')),
                ('status', models.CharField(choices=[('pending', 'Waiting for approval'), ('approved', 'Approved'), ('rejected', 'Rejected'), ('withdrawn', 'Withdrawn')], default='pending', max_length=10)),
                ('requested_at', core.moments.MomentField(default=django.utils.timezone.now, verbose_name='requested at')),
                ('decided_at', core.moments.MomentField(null=True, verbose_name='decided at')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='brands.brand')),
                ('decided_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='decided by')),
                ('requested_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='requested by')),
            ],
            options={
                'verbose_name': 'points approval',
                'verbose_name_plural': 'points approvals',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='Reward',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=120)),
                ('description', models.TextField(blank=True, max_length=2000)),
                ('cost', models.DecimalField(decimal_places=2, help_text='In points.', max_digits=10, validators=[django.core.validators.MinValueValidator(Decimal('0.01'))])),
                ('stock', models.PositiveIntegerField(blank=True, help_text='Number in stock. Leave empty for unlimited stock.', null=True)),
                ('limit_per_member', models.PositiveIntegerField(blank=True, help_text='Maximum per member. Leave empty for no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('valid_from', core.moments.MomentField(blank=True, null=True)),
                ('valid_until', core.moments.MomentField(blank=True, null=True)),
                ('is_active', models.BooleanField(default=True)),
                ('code_days', models.PositiveIntegerField(blank=True, default=90, help_text='Days until an unused code expires. Leave empty for no expiry.', null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='rewards', to='brands.brand')),
                ('minimum_level', models.ForeignKey(blank=True, help_text='Only for members of this level and above. Leave empty for all members.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='rewards', to='loyalty.brandlevel')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='Redemption',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('milestone_id', models.BigIntegerField(blank=True, db_index=True, editable=False, null=True)),
                ('name', models.CharField(help_text='Its name at the time.', max_length=120, verbose_name='reward')),
                ('cost', models.DecimalField(decimal_places=2, max_digits=10)),
                ('balance_after', models.DecimalField(decimal_places=2, editable=False, max_digits=14)),
                ('code', models.CharField(db_collation='C', editable=False, max_length=16)),
                ('request_key', models.UUIDField(editable=False, help_text='The key of the request that created it.')),
                ('status', models.CharField(choices=[('issued', 'Issued'), ('used', 'Used'), ('cancelled', 'Cancelled')], default='issued', max_length=10)),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('expires_at', core.moments.MomentField(blank=True, null=True)),
                ('used_at', core.moments.MomentField(blank=True, null=True)),
                ('used_request', models.UUIDField(blank=True, editable=False, null=True)),
                ('cancelled_at', core.moments.MomentField(blank=True, null=True)),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='redemptions', to='brands.brand')),
                ('used_by', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('used_key', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='brands.apikey')),
                ('user_point', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='redemptions', to='loyalty.userpoints', verbose_name='member')),
                ('reward', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='redemptions', to='loyalty.reward')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='SenderDomain',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('domain', models.CharField(help_text='Such as example.com.', max_length=253, verbose_name='domain')),
                ('token', models.CharField(editable=False, max_length=32)),
                ('verified_at', core.moments.MomentField(blank=True, editable=False, null=True, verbose_name='verified at')),
                ('missing_since', core.moments.MomentField(blank=True, editable=False, null=True, verbose_name='missing since')),
                ('checked_at', core.moments.MomentField(blank=True, editable=False, null=True, verbose_name='checked at')),
                ('last_error', models.CharField(blank=True, editable=False, max_length=200)),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
            ],
            options={
                'verbose_name': 'sender domain',
                'verbose_name_plural': 'sender domains',
                'ordering': ['domain', 'id'],
            },
        ),
        migrations.CreateModel(
            name='SuppressedAddress',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('channel', models.CharField(choices=[('email', 'E-mail'), ('sms', 'SMS'), ('push', 'Push')], max_length=5)),
                ('digest', models.CharField(editable=False, max_length=64)),
                ('masked_address', models.CharField(max_length=120, verbose_name='address')),
                ('reason', models.TextField()),
                ('stopped_at', core.moments.MomentField(default=django.utils.timezone.now)),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
            ],
            options={
                'verbose_name': 'suppressed address',
                'verbose_name_plural': 'suppressed addresses',
                'ordering': ['-stopped_at', '-id'],
            },
        ),
        migrations.CreateModel(
            name='WalletIssuer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('platform', models.CharField(choices=[('apple', 'Apple Wallet'), ('google', 'Google Wallet')], max_length=6)),
                ('identifier', models.CharField(help_text='Apple: the pass type identifier. Google: the issuer id.', max_length=120)),
                ('account', models.CharField(help_text='Apple: the team. Google: the service account.', max_length=254)),
                ('certificates', models.TextField(blank=True, help_text='Apple: the signing certificate and the one above, PEM.')),
                ('private_key', core.encryption.EncryptedTextField(blank=True)),
                ('key_id', models.CharField(blank=True, max_length=64)),
                ('push_key', core.encryption.EncryptedTextField(blank=True)),
                ('push_key_id', models.CharField(blank=True, max_length=10)),
                ('expires_at', core.moments.MomentField(blank=True, help_text='When the first of its certificates expires.', null=True)),
                ('uploaded_at', core.moments.MomentField(default=django.utils.timezone.now)),
                ('design', models.PositiveIntegerField(default=1, help_text='Grows with each change of what all passes share.')),
                ('design_pushed', models.PositiveIntegerField(default=0, help_text='Google: the one that its class has.')),
                ('last_error', models.TextField(blank=True)),
                ('failed_at', core.moments.MomentField(blank=True, null=True)),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='wallet_issuers', to='brands.brand')),
            ],
            options={
                'verbose_name': 'wallet certificate',
                'ordering': ['brand_id', 'platform'],
            },
        ),
        migrations.CreateModel(
            name='WalletPass',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('platform', models.CharField(choices=[('apple', 'Apple Wallet'), ('google', 'Google Wallet')], max_length=6)),
                ('serial', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('token', core.encryption.EncryptedTextField(help_text='What a device proves with that it holds the pass.')),
                ('state', models.CharField(choices=[('issued', 'Issued'), ('held', 'In a wallet'), ('removed', 'Removed')], default='issued', max_length=8)),
                ('version', models.PositiveIntegerField(default=1)),
                ('changed_at', core.moments.MomentField(default=django.utils.timezone.now, help_text='Whole seconds tell versions apart.')),
                ('queued_version', models.PositiveIntegerField(blank=True, help_text='The first version that the update under way brings.', null=True)),
                ('busy_until', core.moments.MomentField(blank=True, help_text='A worker is talking about it until then.', null=True)),
                ('pushed_version', models.PositiveIntegerField(default=0)),
                ('pushed_at', core.moments.MomentField(blank=True, null=True, verbose_name='last push')),
                ('current_version', models.PositiveIntegerField(default=0, verbose_name='version in wallet')),
                ('fetched_at', core.moments.MomentField(blank=True, null=True, verbose_name='last fetch')),
                ('notified_at', models.JSONField(default=list, help_text='Google: when customers were last notified.')),
                ('last_error', models.TextField(blank=True)),
                ('failed_at', core.moments.MomentField(blank=True, null=True)),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='wallet_passes', to='loyalty.userpoints', verbose_name='member')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='wallet_passes', to='brands.brand')),
            ],
            options={
                'verbose_name': 'wallet pass',
                'verbose_name_plural': 'wallet passes',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='WalletDevice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('device', models.CharField(help_text="The device's name for itself in this brand's passes.", max_length=128)),
                ('push_token', models.CharField(max_length=256)),
                ('pushed_version', models.PositiveIntegerField(default=0)),
                ('registered_at', core.moments.MomentField(default=django.utils.timezone.now)),
                ('wallet_pass', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='devices', to='loyalty.walletpass')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('message_id', models.CharField(help_text='The header webhook-id: the same at each attempt and resend.', max_length=64, verbose_name='message id')),
                ('type', models.CharField(max_length=40, verbose_name='event')),
                ('body', models.TextField(help_text='The body that is sent. Empty once the customer was erased.')),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('delivered', 'Delivered'), ('failed', 'Failed'), ('dropped', 'Not sent (webhook disabled or customer erased)')], default='waiting', max_length=10)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('last_status', models.PositiveIntegerField(blank=True, null=True, verbose_name='last answer')),
                ('next_attempt_at', core.moments.MomentField(blank=True, null=True, verbose_name='next attempt')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('finished_at', core.moments.MomentField(blank=True, null=True)),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('user', models.ForeignKey(blank=True, db_index=False, help_text='The customer that it concerns, if any.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'webhook delivery',
                'verbose_name_plural': 'webhook deliveries',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='WebhookAttempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', core.moments.MomentField(default=django.utils.timezone.now, verbose_name='when')),
                ('status', models.PositiveIntegerField(null=True)),
                ('milliseconds', models.PositiveIntegerField(verbose_name='duration')),
                ('answer', models.TextField(blank=True, help_text='The start of the response.')),
                ('error', models.CharField(blank=True, max_length=500)),
                ('delivery', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='calls', to='loyalty.webhookdelivery')),
            ],
            options={
                'verbose_name': 'attempt',
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='WebhookEndpoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('secret', core.encryption.EncryptedTextField(editable=False)),
                ('previous_secret', core.encryption.EncryptedTextField(blank=True, editable=False)),
                ('previous_secret_ends_at', core.moments.MomentField(blank=True, editable=False, null=True)),
                ('url', models.CharField(help_text='An https address. It receives POST requests with a signed JSON body.', max_length=500, verbose_name='address')),
                ('description', models.CharField(blank=True, max_length=200)),
                ('types', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('points.earned', 'points.earned: a customer was credited points'), ('level.reached', 'level.reached: a customer reached a level'), ('reward.redeemed', 'reward.redeemed: a customer redeemed a reward'), ('code.scanned', 'code.scanned: a code was scanned, with every outcome'), ('batch.recalled', 'batch.recalled: a batch was recalled')], max_length=40), help_text='The events that the address receives.', size=None, verbose_name='events')),
                ('state', models.CharField(choices=[('active', 'Active'), ('disabled', 'Disabled by staff'), ('gone', 'Disabled: the receiver answered 410 Gone'), ('failing', 'Disabled after repeated failures')], default='active', editable=False, max_length=10)),
                ('state_since', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('failing_since', core.moments.MomentField(blank=True, editable=False, help_text='The first failure since the last success.', null=True)),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhook_endpoints', to='brands.brand')),
            ],
            options={
                'verbose_name': 'webhook',
                'ordering': ['-id'],
            },
        ),
        migrations.AddField(
            model_name='webhookdelivery',
            name='endpoint',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='loyalty.webhookendpoint', verbose_name='webhook'),
        ),
        migrations.AddConstraint(
            model_name='brandlevel',
            constraint=models.UniqueConstraint(fields=('brand', 'name'), name='level_name_unique_in_brand'),
        ),
        migrations.AddConstraint(
            model_name='brandlevel',
            constraint=models.UniqueConstraint(fields=('brand', 'threshold'), name='level_threshold_unique_in_brand'),
        ),
        migrations.AddConstraint(
            model_name='brandlevel',
            constraint=models.CheckConstraint(condition=models.Q(('scan_reward_value__gte', 0), ('threshold__gte', 0)), name='level_numbers_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='brandlevel',
            constraint=models.CheckConstraint(condition=models.Q(('scan_reward_type__in', ['points', 'percentage'])), name='level_reward_type_known'),
        ),
        migrations.AddIndex(
            model_name='consent',
            index=models.Index(fields=['brand', 'user'], name='consent_of_customer'),
        ),
        migrations.AddConstraint(
            model_name='creditedorder',
            constraint=models.UniqueConstraint(fields=('brand', 'order_id'), name='order_credited_to_one'),
        ),
        migrations.AddConstraint(
            model_name='currencyrate',
            constraint=models.UniqueConstraint(fields=('brand', 'currency'), name='one_rate_per_currency'),
        ),
        migrations.AddConstraint(
            model_name='currencyrate',
            constraint=models.CheckConstraint(condition=models.Q(('rate__gt', 0)), name='currency_rate_positive'),
        ),
        migrations.AddIndex(
            model_name='device',
            index=models.Index(fields=['user', 'brand'], name='device_of_customer'),
        ),
        migrations.AddConstraint(
            model_name='device',
            constraint=models.UniqueConstraint(fields=('brand', 'token'), name='device_once_per_brand'),
        ),
        migrations.AddConstraint(
            model_name='device',
            constraint=models.CheckConstraint(condition=models.Q(('platform__in', ['android', 'ios', 'web'])), name='device_platform_known'),
        ),
        migrations.AddConstraint(
            model_name='emailconfirmation',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('reserved_user_id__isnull', False), ('user__isnull', True)), models.Q(('reserved_user_id__isnull', True), ('user__isnull', False)), _connector='OR'), name='confirmation_of_customer_or_newcomer'),
        ),
        migrations.AddConstraint(
            model_name='expiryrun',
            constraint=models.UniqueConstraint(fields=('brand', 'day', 'kind'), name='one_expiry_run_a_day'),
        ),
        migrations.AddConstraint(
            model_name='expiryrun',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['expire', 'warn'])), name='expiry_run_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='userpoints',
            constraint=models.UniqueConstraint(fields=('user', 'brand'), name='one_account_per_brand'),
        ),
        migrations.AddConstraint(
            model_name='userpoints',
            constraint=models.CheckConstraint(condition=models.Q(('points', django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(models.F('points_earned'), '-', models.F('points_redeemed')), '-', models.F('points_expired')))), name='balance_is_earned_minus_spent'),
        ),
        migrations.AddConstraint(
            model_name='userpoints',
            constraint=models.CheckConstraint(condition=models.Q(('points__gte', 0), ('points_earned__gte', 0), ('points_expired__gte', 0), ('points_redeemed__gte', 0)), name='points_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='userpoints',
            constraint=models.CheckConstraint(condition=models.Q(('points_returned__gte', 0), ('points_returned__lte', models.F('points_redeemed')), ('points_returned__lte', models.F('points_earned'))), name='points_returned_were_redeemed'),
        ),
        migrations.AddConstraint(
            model_name='userpoints',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['active', 'blocked'])), name='member_status_known'),
        ),
        migrations.AddConstraint(
            model_name='externalsystem',
            constraint=models.CheckConstraint(condition=models.Q(('when_rejected__in', ['hold', 'proceed', 'refuse'])), name='external_refusal_known'),
        ),
        migrations.AddConstraint(
            model_name='externalsystem',
            constraint=models.CheckConstraint(condition=models.Q(('when_away__in', ['hold', 'proceed'])), name='external_absence_known'),
        ),
        migrations.AddIndex(
            model_name='loyaltytransaction',
            index=models.Index(fields=['reason_id'], name='ledger_reason_id'),
        ),
        migrations.AddIndex(
            model_name='loyaltytransaction',
            index=models.Index(fields=['user_point', '-loyalty_transaction_id'], name='ledger_newest_first'),
        ),
        migrations.AddConstraint(
            model_name='loyaltytransaction',
            constraint=models.UniqueConstraint(fields=('user_point', 'reason_id'), name='one_entry_per_reason'),
        ),
        migrations.AddConstraint(
            model_name='loyaltytransaction',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('points_earned__gte', 0), ('points_expired', 0), ('points_redeemed', 0), ('reason', 'earned')), models.Q(('points_earned', 0), ('points_expired', 0), ('points_redeemed__gt', 0), ('reason', 'redeemed')), models.Q(('points_earned', 0), ('points_expired__gt', 0), ('points_redeemed', 0), ('reason', 'expired')), _connector='OR'), name='one_amount_for_its_reason'),
        ),
        migrations.AddConstraint(
            model_name='loyaltytransaction',
            constraint=models.CheckConstraint(condition=models.Q(('reason_id', ''), _negated=True), name='ledger_reason_id_given'),
        ),
        migrations.AddIndex(
            model_name='notification',
            index=models.Index(condition=models.Q(('key', ''), _negated=True), fields=['brand', 'key'], name='notice_of_a_recall'),
        ),
        migrations.AddConstraint(
            model_name='notification',
            constraint=models.UniqueConstraint(condition=models.Q(('closed_at__isnull', True), ('key', '')), fields=('brand', 'user', 'template'), name='one_notice_gathers'),
        ),
        migrations.AddConstraint(
            model_name='notification',
            constraint=models.UniqueConstraint(condition=models.Q(('key', ''), _negated=True), fields=('brand', 'user', 'template', 'key'), name='told_once_of_it'),
        ),
        migrations.AddIndex(
            model_name='notificationdelivery',
            index=models.Index(fields=['brand', '-id'], name='delivery_of_brand'),
        ),
        migrations.AddIndex(
            model_name='notificationdelivery',
            index=models.Index(fields=['user', 'brand', '-id'], name='delivery_to_customer'),
        ),
        migrations.AddConstraint(
            model_name='notificationdelivery',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['queued', 'sent', 'failed', 'suppressed', 'bounced'])), name='delivery_status_known'),
        ),
        migrations.AddConstraint(
            model_name='notificationpreference',
            constraint=models.UniqueConstraint(fields=('brand', 'user'), name='one_preference_per_brand'),
        ),
        migrations.AddConstraint(
            model_name='notificationsettings',
            constraint=models.CheckConstraint(condition=models.Q(('merge_seconds__lte', 3600)), name='merging_takes_an_hour_at_most'),
        ),
        migrations.AddConstraint(
            model_name='notificationtemplate',
            constraint=models.UniqueConstraint(fields=('brand', 'template', 'channel', 'language'), name='one_wording_each', violation_error_message='The brand already has its own text for this. Edit that text.'),
        ),
        migrations.AddIndex(
            model_name='pointsapproval',
            index=models.Index(fields=['brand', '-id'], name='points_approval_of_brand'),
        ),
        migrations.AddConstraint(
            model_name='pointsapproval',
            constraint=models.UniqueConstraint(condition=models.Q(('status', 'pending')), fields=('kind', 'row_id'), name='one_pending_approval_per_row'),
        ),
        migrations.AddConstraint(
            model_name='pointsapproval',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['pending', 'approved', 'rejected', 'withdrawn'])), name='approval_status_known'),
        ),
        migrations.AddConstraint(
            model_name='pointsapproval',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'approved'), _negated=True), models.Q(('decided_by__isnull', False), models.Q(('decided_by', models.F('requested_by')), _negated=True)), _connector='OR'), name='approved_by_a_second_person'),
        ),
        migrations.AddConstraint(
            model_name='reward',
            constraint=models.CheckConstraint(condition=models.Q(('cost__gt', 0)), name='reward_costs_something'),
        ),
        migrations.AddConstraint(
            model_name='reward',
            constraint=models.CheckConstraint(condition=models.Q(('stock__isnull', True), ('stock__gte', 0), _connector='OR'), name='stock_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='reward',
            constraint=models.CheckConstraint(condition=models.Q(('limit_per_member__isnull', True), ('limit_per_member__gte', 1), _connector='OR'), name='reward_limit_positive'),
        ),
        migrations.AddConstraint(
            model_name='reward',
            constraint=models.CheckConstraint(condition=models.Q(('valid_from__isnull', True), ('valid_until__isnull', True), ('valid_until__gt', models.F('valid_from')), _connector='OR'), name='reward_ends_after_start', violation_error_message='The reward must end after it starts.'),
        ),
        migrations.AddConstraint(
            model_name='reward',
            constraint=models.CheckConstraint(condition=models.Q(('code_days__isnull', True), ('code_days__range', (1, 36500)), _connector='OR'), name='reward_code_days_sensible'),
        ),
        migrations.AddIndex(
            model_name='redemption',
            index=models.Index(fields=['brand', '-id'], name='redemptions_of_a_brand'),
        ),
        migrations.AddIndex(
            model_name='redemption',
            index=models.Index(fields=['user_point', '-id'], name='redemptions_of_a_member'),
        ),
        migrations.AddConstraint(
            model_name='redemption',
            constraint=models.UniqueConstraint(fields=('code',), name='redemption_code_unique'),
        ),
        migrations.AddConstraint(
            model_name='redemption',
            constraint=models.UniqueConstraint(fields=('user_point', 'request_key'), name='one_redemption_per_request'),
        ),
        migrations.AddConstraint(
            model_name='redemption',
            constraint=models.UniqueConstraint(condition=models.Q(('milestone_id__isnull', False)), fields=('user_point', 'milestone_id'), name='one_redemption_per_milestone'),
        ),
        migrations.AddConstraint(
            model_name='redemption',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('cost__gt', 0), ('milestone_id__isnull', True), ('reward__isnull', False)), models.Q(('cost', 0), ('milestone_id__isnull', False), ('reward__isnull', True)), _connector='OR'), name='redemption_of_a_reward_or_a_milestone'),
        ),
        migrations.AddConstraint(
            model_name='redemption',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('cancelled_at__isnull', True), ('status', 'issued'), ('used_at__isnull', True)), models.Q(('cancelled_at__isnull', True), ('status', 'used'), ('used_at__isnull', False)), models.Q(('cancelled_at__isnull', False), ('status', 'cancelled'), ('used_at__isnull', True)), _connector='OR'), name='redemption_state'),
        ),
        migrations.AddConstraint(
            model_name='senderdomain',
            constraint=models.UniqueConstraint(fields=('brand', 'domain'), name='sender_domain_once_per_brand'),
        ),
        migrations.AddConstraint(
            model_name='suppressedaddress',
            constraint=models.UniqueConstraint(fields=('brand', 'channel', 'digest'), name='stopped_once'),
        ),
        migrations.AddConstraint(
            model_name='walletissuer',
            constraint=models.UniqueConstraint(fields=('brand', 'platform'), name='one_wallet_issuer_per_platform', violation_error_message='The brand already has one for this platform. Replace its files.'),
        ),
        migrations.AddConstraint(
            model_name='walletissuer',
            constraint=models.CheckConstraint(condition=models.Q(('platform__in', ['apple', 'google'])), name='wallet_issuer_platform_known'),
        ),
        migrations.AddIndex(
            model_name='walletpass',
            index=models.Index(fields=['brand', '-id'], name='wallet_passes_of_a_brand'),
        ),
        migrations.AddIndex(
            model_name='walletpass',
            index=models.Index(condition=models.Q(('current_version__lt', models.F('version'))), fields=['brand', 'changed_at'], name='wallet_passes_behind'),
        ),
        migrations.AddConstraint(
            model_name='walletpass',
            constraint=models.UniqueConstraint(fields=('account', 'platform'), name='one_pass_per_member_and_platform'),
        ),
        migrations.AddConstraint(
            model_name='walletpass',
            constraint=models.CheckConstraint(condition=models.Q(('platform__in', ['apple', 'google'])), name='wallet_pass_platform_known'),
        ),
        migrations.AddConstraint(
            model_name='walletpass',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['issued', 'held', 'removed'])), name='wallet_pass_state_known'),
        ),
        migrations.AddIndex(
            model_name='walletdevice',
            index=models.Index(fields=['device'], name='wallet_device_named'),
        ),
        migrations.AddIndex(
            model_name='walletdevice',
            index=models.Index(fields=['push_token'], name='wallet_device_token'),
        ),
        migrations.AddConstraint(
            model_name='walletdevice',
            constraint=models.UniqueConstraint(fields=('wallet_pass', 'device'), name='one_registration_per_device'),
        ),
        migrations.AddConstraint(
            model_name='webhookendpoint',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['active', 'disabled', 'gone', 'failing'])), name='webhook_state_known'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(fields=['brand', '-id'], name='webhooks_of_a_brand'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(fields=['endpoint', '-id'], name='webhooks_of_an_endpoint'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(fields=['created_at'], name='webhooks_by_age'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(condition=models.Q(('user__isnull', False)), fields=['user'], name='webhooks_of_a_person'),
        ),
        migrations.AddConstraint(
            model_name='webhookdelivery',
            constraint=models.UniqueConstraint(fields=('message_id', 'endpoint'), name='webhook_once_per_endpoint'),
        ),
        migrations.AddConstraint(
            model_name='webhookdelivery',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'delivered', 'failed', 'dropped'])), name='webhook_delivery_state_known'),
        ),
    ]
