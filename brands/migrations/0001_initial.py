import brands.models.brand_fields
import core.currencies
import core.moments
import core.web.web_origins
import django.contrib.postgres.fields
import django.core.serializers.json
import django.core.validators
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.text
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='Brand',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('level_period', models.CharField(choices=[('lifetime', 'Permanently: all points ever earned count'), ('year', 'By calendar year, from 1 January'), ('half_year', 'By half-year, from 1 January and 1 July'), ('quarter', 'By quarter, from 1 January on'), ('rolling', 'By the last months, for each member')], db_default='lifetime', default='lifetime', help_text='By a period: a level ends, and members must earn the points of a period again.', max_length=9, verbose_name='members reach levels')),
                ('level_period_months', models.PositiveSmallIntegerField(db_default=12, default=12, help_text='Only if the last months count.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(60)], verbose_name='number of months')),
                ('level_grace_days', models.PositiveSmallIntegerField(db_default=0, default=0, help_text='For this many days after the end, members keep the level and can still earn what is missing.', verbose_name='grace days')),
                ('level_warning_days', models.PositiveSmallIntegerField(db_default=30, default=30, help_text='This many days in advance, members who are about to lose a level are notified of what is missing. Enter 0 to send no notification.', verbose_name='days of warning')),
                ('name', models.CharField(max_length=120, verbose_name='name')),
                ('slug', models.SlugField(max_length=60, unique=True, verbose_name='slug')),
                ('time_zone', models.CharField(default='UTC', max_length=64, validators=[brands.models.brand_fields.validate_time_zone], verbose_name='time zone')),
                ('support_email', models.EmailField(help_text='Shown to customers whose code is not recognised.', max_length=254, verbose_name='support e-mail address')),
                ('currency', models.CharField(db_default='EUR', default='EUR', help_text='The currency of orders. Orders in other currencies earn points only if you enter a rate.', max_length=3, validators=[core.currencies.validate], verbose_name='currency')),
                ('loyalty_active', models.BooleanField(default=True, help_text='If unticked, codes can still be scanned but nothing earns points.', verbose_name='loyalty programme active')),
                ('auto_enroll', models.BooleanField(default=True, help_text='Enrol customers automatically at their first qualifying action.', verbose_name='automatic enrolment')),
                ('daily_point_limit', models.DecimalField(blank=True, decimal_places=2, max_digits=10, null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='daily point limit')),
                ('monthly_point_limit', models.DecimalField(blank=True, decimal_places=2, max_digits=10, null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='monthly point limit')),
                ('max_points_per_scan', models.PositiveIntegerField(db_default=1000, default=1000, help_text="Higher values need a second person's approval. Only operators can raise this limit.", validators=[django.core.validators.MinValueValidator(1)], verbose_name='max points per scan')),
                ('protected_batches_only', models.BooleanField(db_default=False, default=False, help_text='New batches must have protected codes, each with a secret tag.', verbose_name='protected batches only')),
                ('requires_confirmed_email', models.BooleanField(db_default=False, default=False, help_text='Customers earn points only once they have confirmed their e-mail address. Points for earlier actions are held for 30 days and credited when they confirm.', verbose_name='confirmed e-mail address required')),
                ('points_expire', models.CharField(choices=[('never', 'Never'), ('days', 'A number of days after they were earned'), ('months', 'A number of months after they were earned'), ('month_end', 'At the end of a month'), ('year_end', 'At the end of a year')], db_default='never', default='never', max_length=10, verbose_name='points expire')),
                ('points_expire_after', models.PositiveIntegerField(db_default=0, default=0, help_text='Number of days or months. For the end of a month or year: how many months or years after earning.', verbose_name='points expire after')),
                ('expiry_warning_days', models.PositiveIntegerField(db_default=14, default=14, help_text='Days before expiry on which members are notified. Enter 0 to send no notification.', validators=[django.core.validators.MaxValueValidator(90)], verbose_name='expiry warning days')),
                ('order_points', models.CharField(choices=[('at_once', 'At once'), ('after_days', 'A number of days after the order'), ('after_delivery', "When the order's delivery is confirmed")], db_default='at_once', default='at_once', help_text='When customers can spend the points. Until then the points are shown as pending.', max_length=14, verbose_name='points of orders')),
                ('order_points_days', models.PositiveSmallIntegerField(db_default=0, default=0, help_text='With delivery: the maximum number of days to wait for the confirmation. Enter 0 for no limit.', verbose_name='days pending')),
                ('after_return', models.CharField(choices=[('retain', 'Level and progress stay as they are'), ('recompute', 'Level and progress are computed again without the order')], db_default='retain', default='retain', help_text='What happens to levels and campaign progress. The points of the order are reversed in any case.', max_length=9, verbose_name='after a return')),
                ('transfers_allowed', models.BooleanField(db_default=False, default=False, help_text="Members enter the number on the receiver's wallet pass in the app.", verbose_name='members can give points to each other')),
                ('transfer_daily_limit', models.PositiveIntegerField(db_default=500, default=500, help_text='The total for all other members together.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000000)], verbose_name='most points that a member can give in a day')),
                ('birthday_points', models.CharField(choices=[('day', 'On the birthday'), ('month', "On the first day of the birthday's month")], db_default='day', default='day', help_text='When birthday points are credited. An earning rule for birthdays sets how many.', max_length=5, verbose_name='birthday points')),
                ('birthday_lead_days', models.PositiveSmallIntegerField(db_default=30, default=30, help_text='A birthday entered or changed later than this earns points only from the next year. Enter 0 to give points at once.', validators=[django.core.validators.MaxValueValidator(365)], verbose_name='days before a birthday')),
                ('till_works_offline', models.BooleanField(db_default=True, default=True, help_text='If ticked, tills keep digests of the newest codes with their rewards for up to 12 hours. The digests name no customer, and nothing is handed over without a connection.', verbose_name='code lookup at the till without a connection')),
                ('colour_background', models.CharField(default='#ffffff', help_text='Colour of the page background.', max_length=7, validators=[django.core.validators.RegexValidator('^#[0-9a-f]{6}\\Z', 'Enter a colour such as #1a2b3c.')], verbose_name='background colour')),
                ('colour_text', models.CharField(default='#1f2328', help_text='Must be easy to read on the background.', max_length=7, validators=[django.core.validators.RegexValidator('^#[0-9a-f]{6}\\Z', 'Enter a colour such as #1a2b3c.')], verbose_name='text colour')),
                ('colour_accent', models.CharField(default='#0b57d0', help_text='Colour of buttons, links and bars.', max_length=7, validators=[django.core.validators.RegexValidator('^#[0-9a-f]{6}\\Z', 'Enter a colour such as #1a2b3c.')], verbose_name='accent colour')),
                ('terms_url', models.CharField(blank=True, db_default='', help_text='Customers accept them when they register on the scan page.', max_length=500, validators=[django.core.validators.URLValidator(message='Enter an address that begins with https://.', schemes=['https'])], verbose_name='terms')),
                ('privacy_url', models.CharField(blank=True, db_default='', help_text='Shown on the scan page, and to customers who register there.', max_length=500, validators=[django.core.validators.URLValidator(message='Enter an address that begins with https://.', schemes=['https'])], verbose_name='privacy notice')),
                ('web_origins', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=270, validators=[core.web.web_origins.validate_web_origin]), blank=True, db_default=[], default=list, help_text='Websites whose pages may call the API with your app key, one per line, such as https://shop.example.com. At most 20. Leave empty if only apps and servers call it.', size=20, verbose_name='web origins')),
                ('is_sandbox', models.BooleanField(db_default=False, default=False, help_text="For testing. Nothing is sent to customers, and the brand's codes, prints and wallet passes are marked as a test. Cannot be changed later.", verbose_name='sandbox')),
                ('has_legal_texts', models.BooleanField(db_default=False, default=False, editable=False)),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='created at')),
            ],
            options={
                'verbose_name': 'brand',
                'verbose_name_plural': 'brands',
                'ordering': ['name', 'id'],
                'constraints': [models.CheckConstraint(condition=models.Q(('colour_background__regex', '^#[0-9a-f]{6}$')), name='brand_background_is_a_colour'), models.CheckConstraint(condition=models.Q(('colour_text__regex', '^#[0-9a-f]{6}$')), name='brand_text_is_a_colour'), models.CheckConstraint(condition=models.Q(('colour_accent__regex', '^#[0-9a-f]{6}$')), name='brand_accent_is_a_colour'), models.CheckConstraint(condition=models.Q(('daily_point_limit__isnull', True), ('daily_point_limit__gte', 0), _connector='OR'), name='brand_daily_limit_not_negative'), models.CheckConstraint(condition=models.Q(('monthly_point_limit__isnull', True), ('monthly_point_limit__gte', 0), _connector='OR'), name='brand_monthly_limit_not_negative'), models.CheckConstraint(condition=models.Q(('points_expire', 'never'), models.Q(('points_expire', 'days'), ('points_expire_after__range', (1, 3650))), models.Q(('points_expire', 'months'), ('points_expire_after__range', (1, 120))), models.Q(('points_expire', 'month_end'), ('points_expire_after__lte', 120)), models.Q(('points_expire', 'year_end'), ('points_expire_after__lte', 10)), _connector='OR'), name='brand_expiry_makes_sense', violation_error_message='Points expire after 1 to 3,650 days, 1 to 120 months, or 10 years at most.'), models.CheckConstraint(condition=models.Q(('expiry_warning_days__lte', 90)), name='brand_expiry_warning_in_time'), models.CheckConstraint(condition=models.Q(models.Q(('order_points', 'at_once'), ('order_points_days', 0)), models.Q(('order_points', 'after_days'), ('order_points_days__range', (1, 365))), models.Q(('order_points', 'after_delivery'), ('order_points_days__lte', 365)), _connector='OR'), name='brand_order_points_make_sense', violation_error_message='Points of orders are pending for 1 to 365 days. Enter 0 days if they are credited at once.'), models.CheckConstraint(condition=models.Q(('after_return__in', ['retain', 'recompute'])), name='brand_after_return_known'), models.CheckConstraint(condition=models.Q(('level_period_months__range', (1, 60)), models.Q(('level_period', 'lifetime'), models.Q(('level_grace_days__lt', 365), ('level_period', 'year'), ('level_warning_days__lt', 365)), models.Q(('level_grace_days__lt', 181), ('level_period', 'half_year'), ('level_warning_days__lt', 181)), models.Q(('level_grace_days__lt', 90), ('level_period', 'quarter'), ('level_warning_days__lt', 90)), models.Q(('level_grace_days__lt', django.db.models.expressions.CombinedExpression(models.F('level_period_months'), '*', models.Value(28))), ('level_period', 'rolling'), ('level_warning_days__lt', django.db.models.expressions.CombinedExpression(models.F('level_period_months'), '*', models.Value(28)))), _connector='OR')), name='brand_level_period_makes_sense', violation_error_message='The grace days and the days of warning must each be fewer than the days of the period.'), models.CheckConstraint(condition=models.Q(('birthday_points__in', ['day', 'month'])), name='brand_birthday_points_known')],
            },
        ),
        migrations.CreateModel(
            name='BrandHostname',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='hostnames', to='brands.brand', verbose_name='brand')),
                ('hostname', models.CharField(max_length=253, unique=True, validators=[django.core.validators.RegexValidator('^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\\d{1,5})?$', 'Enter the hostname in lowercase.')], verbose_name='hostname')),
                ('is_primary', models.BooleanField(default=False, help_text='The hostname that new QR codes are printed with.', verbose_name='primary')),
            ],
            options={
                'verbose_name': 'hostname',
                'verbose_name_plural': 'hostnames',
                'ordering': ['hostname'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('is_primary', True)), fields=('brand',), name='one_primary_hostname_per_brand'), models.CheckConstraint(condition=models.Q(('hostname', django.db.models.functions.text.Lower('hostname'))), name='hostname_is_lowercase')],
            },
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('email', models.EmailField(error_messages={'unique': 'This e-mail address is taken.'}, max_length=254, unique=True, verbose_name='e-mail address')),
                ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                ('registered_brand', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='registered_users', to='brands.brand', verbose_name='registered brand')),
                ('is_staff', models.BooleanField(default=False, help_text='May log in to the portal.', verbose_name='works for a brand')),
                ('is_active', models.BooleanField(default=True, help_text='Untick to block this account, starting with its next request.', verbose_name='active')),
                ('last_login', core.moments.MomentField(blank=True, null=True, verbose_name='last login')),
                ('date_joined', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='date joined')),
                ('email_verified_at', core.moments.MomentField(blank=True, editable=False, help_text='Empty until the address is confirmed.', null=True, verbose_name='address verified')),
                ('session_epoch', models.PositiveIntegerField(db_default=0, default=0, editable=False, verbose_name='session epoch')),
                ('portal_language', models.CharField(blank=True, db_default='', default='', editable=False, max_length=7, verbose_name='language of the portal')),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'verbose_name': 'user',
                'verbose_name_plural': 'users',
                'ordering': ['email'],
                'constraints': [models.CheckConstraint(condition=models.Q(('email', django.db.models.functions.text.Lower('email'))), name='email_is_lowercase', violation_error_message='Write the e-mail address in lowercase.')],
            },
        ),
        migrations.CreateModel(
            name='StaffRole',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='staff_roles', to=settings.AUTH_USER_MODEL, verbose_name='user')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='staff_roles', to='brands.brand', verbose_name='brand')),
                ('role', models.CharField(choices=[('owner', 'Owner'), ('manager', 'Manager'), ('printer', 'Printer (codes and print)'), ('support', 'Support (read and search)')], max_length=10, verbose_name='role')),
            ],
            options={
                'verbose_name': 'staff role',
                'verbose_name_plural': 'staff roles',
                'ordering': ['brand_id', 'user_id'],
                'constraints': [models.UniqueConstraint(fields=('user', 'brand'), name='one_role_per_brand'), models.CheckConstraint(condition=models.Q(('role__in', ['owner', 'manager', 'printer', 'support'])), name='staff_role_known')],
            },
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_keys', to='brands.brand', verbose_name='brand')),
                ('kind', models.CharField(choices=[('hub', 'Hub (secret, server to server)'), ('app', 'App (publishable, shipped in an app)')], max_length=3, verbose_name='kind')),
                ('name', models.CharField(max_length=120, verbose_name='name')),
                ('prefix', models.CharField(editable=False, help_text='The visible start of the key.', max_length=16, verbose_name='prefix')),
                ('digest', models.BinaryField(max_length=32)),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('read', 'Read: all but names and addresses'), ('events', 'Events: scans, orders, profiles, logins'), ('members', 'Members: find, enrol, change, block'), ('points', 'Points: adjust balances'), ('till', 'Till: check and use reward codes'), ('codes', 'Codes: generate, assign, deactivate'), ('admin', 'Admin: products, rewards, recalls')], max_length=10), blank=True, db_default=[], default=list, help_text='What a hub key may do. App keys have no scopes.', size=None, verbose_name='scopes')),
                ('networks', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=43), blank=True, db_default=[], default=list, help_text='IP addresses or networks such as 203.0.113.0/24. Leave empty to allow every network.', size=None, verbose_name='allowed networks')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='created at')),
                ('last_used_at', core.moments.MomentField(blank=True, editable=False, null=True, verbose_name='last used at')),
                ('expires_at', core.moments.MomentField(blank=True, null=True, verbose_name='expires at')),
                ('revoked_at', core.moments.MomentField(blank=True, editable=False, null=True, verbose_name='revoked at')),
                ('of_scan_page', models.BooleanField(default=False, editable=False, help_text='Created for the scan page. If it is revoked, the scan page creates another.', verbose_name='scan page key')),
            ],
            options={
                'verbose_name': 'API key',
                'verbose_name_plural': 'API keys',
                'ordering': ['-created_at', '-id'],
                'constraints': [models.UniqueConstraint(fields=('digest',), name='api_key_digest_unique'), models.CheckConstraint(condition=models.Q(('kind__in', ['hub', 'app'])), name='api_key_kind_known')],
            },
        ),
        migrations.CreateModel(
            name='LoginSession',
            fields=[
                ('family', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='login_sessions', to=settings.AUTH_USER_MODEL)),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('current_jti', models.CharField(max_length=64)),
                ('previous_jti', models.CharField(blank=True, db_default='', default='', max_length=64)),
                ('rotated_at', core.moments.MomentField(blank=True, null=True)),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('expires_at', core.moments.MomentField()),
                ('revoked_at', core.moments.MomentField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='AuditLogEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='when')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='audit_entries', to=settings.AUTH_USER_MODEL, verbose_name='who')),
                ('api_key', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='brands.apikey', verbose_name='API key')),
                ('brand', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='audit_entries', to='brands.brand', verbose_name='brand')),
                ('kind', models.CharField(help_text="The changed row's model: app.model", max_length=100, verbose_name='kind')),
                ('row_id', models.CharField(max_length=64, verbose_name='row id')),
                ('row_name', models.CharField(help_text="The row's name at the time.", max_length=200, verbose_name='what')),
                ('action', models.CharField(max_length=200, verbose_name='action')),
                ('changes', models.JSONField(default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder, help_text='The value of each changed field before and after.', verbose_name='changes')),
                ('reason', models.TextField(blank=True, verbose_name='reason')),
                ('request_id', models.CharField(blank=True, max_length=64, verbose_name='request id')),
            ],
            options={
                'verbose_name': 'audit log entry',
                'verbose_name_plural': 'audit log entries',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['kind', 'row_id', '-id'], name='audit_of_a_row'), models.Index(fields=['brand', '-id'], name='audit_of_a_brand'), models.Index(fields=['user', '-id'], name='audit_of_a_user')],
            },
        ),
        migrations.CreateModel(
            name='CustomerWord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='search_words', to=settings.AUTH_USER_MODEL)),
                ('word', models.CharField(db_collation='C', max_length=64, verbose_name='word')),
            ],
            options={
                'verbose_name': 'word of a customer',
                'verbose_name_plural': 'words of customers',
                'constraints': [models.UniqueConstraint(fields=('brand', 'word', 'user'), name='customer_word_once')],
            },
        ),
        migrations.CreateModel(
            name='IdempotentRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('sender', models.CharField(help_text='key:<id> or user:<id>', max_length=40)),
                ('key', models.CharField(help_text='The Idempotency-Key header.', max_length=255)),
                ('digest', models.BinaryField(help_text='SHA-256 of the method, path and body.', max_length=32)),
                ('status', models.PositiveSmallIntegerField(default=0)),
                ('answer', models.TextField(blank=True, help_text='The body of the answer, JSON.')),
                ('customer', models.ForeignKey(help_text='Whom the answer tells about.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('created_at', core.moments.MomentField(db_index=True, default=django.utils.timezone.now, editable=False)),
            ],
            options={
                'ordering': ['-id'],
                'constraints': [models.UniqueConstraint(fields=('brand', 'sender', 'key'), name='idempotency_key_of_sender_once')],
            },
        ),
        migrations.CreateModel(
            name='LegalText',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='brands.brand', verbose_name='brand')),
                ('kind', models.CharField(choices=[('terms', 'Terms'), ('privacy', 'Privacy notice'), ('consent', 'Consent')], help_text='A consent is the sentence next to the box that customers tick when they register.', max_length=10, verbose_name='kind')),
                ('version', models.PositiveIntegerField(default=1, help_text='Use the same number for the same text in other languages. A higher number replaces the lower ones.', validators=[django.core.validators.MinValueValidator(1)], verbose_name='version')),
                ('language', models.CharField(choices=[('en', 'English'), ('de', 'German'), ('ar', 'Arabic')], default='en', max_length=2, verbose_name='language')),
                ('text', models.TextField(help_text='Leave an empty line between paragraphs.', max_length=100000, verbose_name='text')),
                ('valid_from', core.moments.MomentField(default=django.utils.timezone.now, help_text='From then on, customers see the text, and it can no longer be changed.', verbose_name='in force from')),
            ],
            options={
                'verbose_name': 'legal text',
                'verbose_name_plural': 'legal texts',
                'ordering': ['kind', '-version', 'language', 'id'],
                'constraints': [models.UniqueConstraint(fields=('brand', 'kind', 'version', 'language'), name='legal_text_once', violation_error_message='This text already exists. Enter a higher version for a new one.'), models.CheckConstraint(condition=models.Q(('kind__in', ['terms', 'privacy', 'consent'])), name='legal_text_kind_known')],
            },
        ),
        migrations.CreateModel(
            name='StoppedAttempts',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand', verbose_name='brand')),
                ('kind', models.CharField(choices=[('codes', 'Codes: more than customers normally try'), ('logins', 'Customer logins: wrong passwords')], max_length=10, verbose_name='what was tried')),
                ('hour', core.moments.MomentField(verbose_name='hour starting at')),
                ('number', models.PositiveBigIntegerField(verbose_name='stopped attempts')),
            ],
            options={
                'verbose_name': 'stopped attempts',
                'verbose_name_plural': 'stopped attempts',
                'ordering': ['-hour', '-id'],
                'constraints': [models.UniqueConstraint(fields=('brand', 'hour', 'kind'), name='stopped_attempts_of_an_hour'), models.CheckConstraint(condition=models.Q(('kind__in', ['codes', 'logins'])), name='stopped_kind_known')],
            },
        ),
        migrations.CreateModel(
            name='QuotaMail',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('resource', models.CharField(max_length=10, verbose_name='resource')),
                ('percent', models.PositiveSmallIntegerField(verbose_name='percent')),
                ('day', core.moments.DayField(verbose_name='day')),
            ],
            options={
                'verbose_name': 'quota notice',
                'verbose_name_plural': 'quota notices',
                'ordering': ['brand', 'resource', 'day'],
                'constraints': [models.UniqueConstraint(fields=('brand', 'resource', 'percent', 'day'), name='quota_notice_once_a_day')],
            },
        ),
        migrations.CreateModel(
            name='BrandQuota',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='quotas', to='brands.brand', verbose_name='brand')),
                ('resource', models.CharField(choices=[('codes', 'Codes'), ('uploads', 'Uploads a day'), ('storage', 'Storage in bytes'), ('jobs', 'Jobs a day'), ('events', 'Events a day'), ('webhooks', 'Webhook deliveries a day'), ('mails', 'E-mails a day'), ('broadcasts', 'Broadcast messages a day')], max_length=10, verbose_name='resource')),
                ('limit', models.PositiveBigIntegerField(blank=True, help_text="Leave empty to use the installation's default. 0 means unlimited. Days are in UTC.", null=True, verbose_name='limit')),
            ],
            options={
                'verbose_name': 'quota',
                'verbose_name_plural': 'quotas',
                'ordering': ['brand', 'resource'],
                'constraints': [models.UniqueConstraint(fields=('brand', 'resource'), name='quota_of_a_brand_once'), models.CheckConstraint(condition=models.Q(('resource__in', ['codes', 'uploads', 'storage', 'jobs', 'events', 'webhooks', 'mails', 'broadcasts'])), name='quota_resource_known')],
            },
        ),
        migrations.CreateModel(
            name='SavedList',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand', verbose_name='brand')),
                ('owner', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='saved_lists', to=settings.AUTH_USER_MODEL, verbose_name='owner')),
                ('name', models.CharField(max_length=80, validators=[django.core.validators.RegexValidator('^[^\\x00-\\x1f\\x7f]*$', 'Do not use control characters.')], verbose_name='name')),
                ('model_label', models.CharField(editable=False, help_text='Of which rows: app.model, in lowercase.', max_length=100, verbose_name='list')),
                ('query', models.JSONField(default=dict, editable=False, help_text="The values of each parameter of the list's address.", verbose_name='filters')),
                ('is_shared', models.BooleanField(default=False, help_text='Colleagues of the brand who may see such a list can open this one and send it on a schedule.', verbose_name='shared')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='saved')),
                ('changed_at', core.moments.MomentField(auto_now=True, verbose_name='changed')),
            ],
            options={
                'verbose_name': 'saved list',
                'verbose_name_plural': 'saved lists',
                'ordering': ['name', 'id'],
                'constraints': [models.UniqueConstraint(fields=('brand', 'owner', 'name'), name='saved_list_name_once', violation_error_message='You have already saved a list under this name.')],
            },
        ),
        migrations.CreateModel(
            name='UndoOffer',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('customer', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('kind', models.CharField(max_length=40)),
                ('arguments', models.JSONField(default=dict)),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now)),
                ('expires_at', core.moments.MomentField()),
            ],
            options={
                'indexes': [models.Index(fields=['expires_at'], name='undo_offer_ends')],
            },
        ),
        migrations.CreateModel(
            name='Picture',
            fields=[
                ('picture_id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='picture id')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pictures', to='brands.brand', verbose_name='brand')),
                ('content', models.BinaryField(help_text='A logo as PNG, a photograph as JPEG.', verbose_name='content')),
                ('content_type', models.CharField(max_length=20, verbose_name='content type')),
                ('width', models.PositiveSmallIntegerField(verbose_name='width')),
                ('height', models.PositiveSmallIntegerField(verbose_name='height')),
                ('small', models.BinaryField(help_text='The same for pages, as WebP of a few kilobytes.', verbose_name='small')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                'verbose_name': 'picture',
                'verbose_name_plural': 'pictures',
                'ordering': ['-created_at', 'picture_id'],
                'constraints': [models.CheckConstraint(condition=models.Q(('content_type__in', ['image/png', 'image/jpeg'])), name='picture_type_known')],
            },
        ),
        migrations.AddField(
            model_name='brand',
            name='logo',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='brands.picture', verbose_name='logo'),
        ),
    ]
