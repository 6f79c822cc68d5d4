import brands.models.tenants
import core.currencies
import core.moments
import django.core.serializers.json
import django.core.validators
import django.db.models.deletion
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
                ('name', models.CharField(max_length=120)),
                ('slug', models.SlugField(max_length=60, unique=True)),
                ('time_zone', models.CharField(default='UTC', max_length=64, validators=[brands.models.tenants.validate_time_zone])),
                ('support_email', models.EmailField(help_text='Shown to customers whose code is not recognised.', max_length=254)),
                ('currency', models.CharField(db_default='EUR', default='EUR', help_text='The currency of orders. Orders in other currencies earn points only if you enter a rate.', max_length=3, validators=[core.currencies.validate], verbose_name='currency')),
                ('loyalty_active', models.BooleanField(default=True, help_text='If unticked, codes can still be scanned but nothing earns points.')),
                ('auto_enroll', models.BooleanField(default=True, help_text='Enrol customers automatically at their first qualifying action.')),
                ('daily_point_limit', models.DecimalField(blank=True, decimal_places=2, max_digits=10, null=True, validators=[django.core.validators.MinValueValidator(0)])),
                ('monthly_point_limit', models.DecimalField(blank=True, decimal_places=2, max_digits=10, null=True, validators=[django.core.validators.MinValueValidator(0)])),
                ('max_points_per_scan', models.PositiveIntegerField(db_default=1000, default=1000, help_text="More than this needs a second person's approval. Only operators can raise it.", validators=[django.core.validators.MinValueValidator(1)], verbose_name='max points per scan')),
                ('protected_batches_only', models.BooleanField(db_default=False, default=False, help_text='New batches must have protected codes, each with a secret tag.', verbose_name='protected batches only')),
                ('requires_confirmed_email', models.BooleanField(db_default=False, default=False, help_text='Customers earn points only once they have confirmed their e-mail address. Points for earlier actions are held for 30 days and credited when they confirm.', verbose_name='confirmed e-mail address required')),
                ('points_expire', models.CharField(choices=[('never', 'Never'), ('days', 'A number of days after they were earned'), ('months', 'A number of months after they were earned'), ('month_end', 'At the end of a month'), ('year_end', 'At the end of a year')], db_default='never', default='never', max_length=10)),
                ('points_expire_after', models.PositiveIntegerField(db_default=0, default=0, help_text='Number of days or months. For the end of a month or year: how many months or years after earning.')),
                ('expiry_warning_days', models.PositiveIntegerField(db_default=14, default=14, help_text='Days before expiry on which members are notified. Enter 0 to send no notification.', validators=[django.core.validators.MaxValueValidator(90)])),
                ('colour_background', models.CharField(default='#ffffff', help_text='Colour of the page background.', max_length=7, validators=[django.core.validators.RegexValidator('^#[0-9a-f]{6}\\Z', 'Enter a colour such as #1a2b3c.')], verbose_name='background colour')),
                ('colour_text', models.CharField(default='#1f2328', help_text='Must be easy to read on the background.', max_length=7, validators=[django.core.validators.RegexValidator('^#[0-9a-f]{6}\\Z', 'Enter a colour such as #1a2b3c.')], verbose_name='text colour')),
                ('colour_accent', models.CharField(default='#0b57d0', help_text='Buttons, links and bars.', max_length=7, validators=[django.core.validators.RegexValidator('^#[0-9a-f]{6}\\Z', 'Enter a colour such as #1a2b3c.')], verbose_name='accent colour')),
                ('terms_url', models.CharField(blank=True, db_default='', help_text='Customers accept them when they register on the scan page.', max_length=500, validators=[django.core.validators.URLValidator(message='Enter an address that begins with https://.', schemes=['https'])], verbose_name='terms')),
                ('privacy_url', models.CharField(blank=True, db_default='', help_text='Shown on the scan page, and to customers who register there.', max_length=500, validators=[django.core.validators.URLValidator(message='Enter an address that begins with https://.', schemes=['https'])], verbose_name='privacy notice')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                'ordering': ['name', 'id'],
            },
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('email', models.EmailField(error_messages={'unique': 'This e-mail address is taken.'}, max_length=254, unique=True)),
                ('first_name', models.CharField(blank=True, max_length=150)),
                ('last_name', models.CharField(blank=True, max_length=150)),
                ('is_staff', models.BooleanField(default=False, help_text='May log in to the portal.')),
                ('is_active', models.BooleanField(default=True, help_text='Untick to block this account from the next request on.')),
                ('last_login', core.moments.MomentField(blank=True, null=True, verbose_name='last login')),
                ('date_joined', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('email_verified_at', core.moments.MomentField(blank=True, editable=False, help_text='Empty until the address is confirmed.', null=True, verbose_name='address verified')),
                ('session_epoch', models.PositiveIntegerField(db_default=0, default=0, editable=False, verbose_name='session epoch')),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
                ('registered_brand', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='registered_users', to='brands.brand')),
            ],
            options={
                'ordering': ['email'],
            },
        ),
        migrations.CreateModel(
            name='BrandHostname',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('hostname', models.CharField(max_length=253, unique=True, validators=[django.core.validators.RegexValidator('^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\\d{1,5})?$', 'Enter the hostname in lowercase.')])),
                ('is_primary', models.BooleanField(default=False, help_text='The hostname that new QR codes are printed with.')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='hostnames', to='brands.brand')),
            ],
            options={
                'ordering': ['hostname'],
            },
        ),
        migrations.CreateModel(
            name='BrandQuota',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('resource', models.CharField(choices=[('codes', 'Codes'), ('uploads', 'Uploads a day'), ('storage', 'Storage in bytes'), ('jobs', 'Jobs a day'), ('events', 'Events a day'), ('webhooks', 'Webhook deliveries a day'), ('mails', 'E-mails a day')], max_length=10, verbose_name='resource')),
                ('limit', models.PositiveBigIntegerField(blank=True, help_text="Leave empty for the installation's default. 0 means unlimited. Days are in UTC.", null=True, verbose_name='limit')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='quotas', to='brands.brand')),
            ],
            options={
                'verbose_name': 'quota',
                'verbose_name_plural': 'quotas',
                'ordering': ['brand', 'resource'],
            },
        ),
        migrations.CreateModel(
            name='CustomerWord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('word', models.CharField(db_collation='C', max_length=64, verbose_name='word')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='search_words', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'word of a customer',
                'verbose_name_plural': 'words of customers',
            },
        ),
        migrations.CreateModel(
            name='LoginSession',
            fields=[
                ('family', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('current_jti', models.CharField(max_length=64)),
                ('previous_jti', models.CharField(blank=True, db_default='', default='', max_length=64)),
                ('rotated_at', core.moments.MomentField(blank=True, null=True)),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('expires_at', core.moments.MomentField()),
                ('revoked_at', core.moments.MomentField(blank=True, null=True)),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='login_sessions', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='StaffRole',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('owner', 'Owner'), ('manager', 'Manager'), ('printer', 'Printer (codes and print)'), ('support', 'Support (read and search)')], max_length=10)),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='staff_roles', to='brands.brand')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='staff_roles', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['brand_id', 'user_id'],
            },
        ),
        migrations.CreateModel(
            name='Picture',
            fields=[
                ('picture_id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='picture id')),
                ('content', models.BinaryField(help_text='A logo as PNG, a photograph as JPEG.', verbose_name='content')),
                ('content_type', models.CharField(max_length=20, verbose_name='content type')),
                ('width', models.PositiveSmallIntegerField(verbose_name='width')),
                ('height', models.PositiveSmallIntegerField(verbose_name='height')),
                ('small', models.BinaryField(help_text='The same for pages, as WebP of a few kilobytes.', verbose_name='small')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pictures', to='brands.brand', verbose_name='brand')),
            ],
            options={
                'verbose_name': 'picture',
                'verbose_name_plural': 'pictures',
                'ordering': ['-created_at', 'picture_id'],
            },
        ),
        migrations.AddField(
            model_name='brand',
            name='logo',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='brands.picture', verbose_name='logo'),
        ),
        migrations.CreateModel(
            name='QuotaMail',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('resource', models.CharField(max_length=10, verbose_name='resource')),
                ('percent', models.PositiveSmallIntegerField(verbose_name='percent')),
                ('day', core.moments.DayField(verbose_name='day')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
            ],
            options={
                'verbose_name': 'notice of a quota',
                'verbose_name_plural': 'notices of quotas',
                'ordering': ['brand', 'resource', 'day'],
            },
        ),
        migrations.CreateModel(
            name='StoppedAttempts',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('codes', 'Codes: more than customers normally try'), ('logins', 'Logins of customers: wrong passwords')], max_length=10, verbose_name='what was tried')),
                ('hour', core.moments.MomentField(verbose_name='in the hour from')),
                ('number', models.PositiveBigIntegerField(verbose_name='stopped attempts')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand', verbose_name='brand')),
            ],
            options={
                'verbose_name': 'stopped attempts',
                'verbose_name_plural': 'stopped attempts',
                'ordering': ['-hour', '-id'],
            },
        ),
        migrations.CreateModel(
            name='AuditLogEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='when')),
                ('kind', models.CharField(help_text="The changed row's model: app.model", max_length=100)),
                ('row_id', models.CharField(max_length=64)),
                ('row_name', models.CharField(help_text="The row's name at the time.", max_length=200, verbose_name='what')),
                ('action', models.CharField(max_length=200)),
                ('changes', models.JSONField(default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder, help_text='Of each changed field the value before and after.')),
                ('reason', models.TextField(blank=True)),
                ('request_id', models.CharField(blank=True, max_length=64, verbose_name='request id')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='audit_entries', to=settings.AUTH_USER_MODEL, verbose_name='who')),
                ('brand', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='audit_entries', to='brands.brand')),
            ],
            options={
                'verbose_name': 'audit log entry',
                'verbose_name_plural': 'audit log entries',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['kind', 'row_id', '-id'], name='audit_of_a_row'), models.Index(fields=['brand', '-id'], name='audit_of_a_brand'), models.Index(fields=['user', '-id'], name='audit_of_a_user')],
            },
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('hub', 'Hub (secret, server to server)'), ('app', 'App (publishable, shipped in an app)')], max_length=3)),
                ('name', models.CharField(max_length=120)),
                ('prefix', models.CharField(editable=False, help_text='The visible start of the key.', max_length=16)),
                ('digest', models.BinaryField(max_length=32)),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('last_used_at', core.moments.MomentField(blank=True, editable=False, null=True)),
                ('expires_at', core.moments.MomentField(blank=True, null=True)),
                ('revoked_at', core.moments.MomentField(blank=True, editable=False, null=True)),
                ('of_scan_page', models.BooleanField(default=False, editable=False, help_text='Created for the scan page. If it is revoked, the scan page creates another.', verbose_name='of the scan page')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_keys', to='brands.brand')),
            ],
            options={
                'verbose_name': 'API key',
                'ordering': ['-created_at', '-id'],
                'constraints': [models.UniqueConstraint(fields=('digest',), name='api_key_digest_unique'), models.CheckConstraint(condition=models.Q(('kind__in', ['hub', 'app'])), name='api_key_kind_known')],
            },
        ),
        migrations.AddConstraint(
            model_name='user',
            constraint=models.CheckConstraint(condition=models.Q(('email', django.db.models.functions.text.Lower('email'))), name='email_is_lowercase', violation_error_message='Write the e-mail address in lowercase.'),
        ),
        migrations.AddConstraint(
            model_name='brandhostname',
            constraint=models.UniqueConstraint(condition=models.Q(('is_primary', True)), fields=('brand',), name='one_primary_hostname_per_brand'),
        ),
        migrations.AddConstraint(
            model_name='brandhostname',
            constraint=models.CheckConstraint(condition=models.Q(('hostname', django.db.models.functions.text.Lower('hostname'))), name='hostname_is_lowercase'),
        ),
        migrations.AddConstraint(
            model_name='brandquota',
            constraint=models.UniqueConstraint(fields=('brand', 'resource'), name='quota_of_a_brand_once'),
        ),
        migrations.AddConstraint(
            model_name='brandquota',
            constraint=models.CheckConstraint(condition=models.Q(('resource__in', ['codes', 'uploads', 'storage', 'jobs', 'events', 'webhooks', 'mails'])), name='quota_resource_known'),
        ),
        migrations.AddConstraint(
            model_name='customerword',
            constraint=models.UniqueConstraint(fields=('brand', 'word', 'user'), name='customer_word_once'),
        ),
        migrations.AddConstraint(
            model_name='staffrole',
            constraint=models.UniqueConstraint(fields=('user', 'brand'), name='one_role_per_brand'),
        ),
        migrations.AddConstraint(
            model_name='staffrole',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['owner', 'manager', 'printer', 'support'])), name='staff_role_known'),
        ),
        migrations.AddConstraint(
            model_name='picture',
            constraint=models.CheckConstraint(condition=models.Q(('content_type__in', ['image/png', 'image/jpeg'])), name='picture_type_known'),
        ),
        migrations.AddConstraint(
            model_name='brand',
            constraint=models.CheckConstraint(condition=models.Q(('colour_background__regex', '^#[0-9a-f]{6}$')), name='brand_background_is_a_colour'),
        ),
        migrations.AddConstraint(
            model_name='brand',
            constraint=models.CheckConstraint(condition=models.Q(('colour_text__regex', '^#[0-9a-f]{6}$')), name='brand_text_is_a_colour'),
        ),
        migrations.AddConstraint(
            model_name='brand',
            constraint=models.CheckConstraint(condition=models.Q(('colour_accent__regex', '^#[0-9a-f]{6}$')), name='brand_accent_is_a_colour'),
        ),
        migrations.AddConstraint(
            model_name='brand',
            constraint=models.CheckConstraint(condition=models.Q(('daily_point_limit__isnull', True), ('daily_point_limit__gte', 0), _connector='OR'), name='brand_daily_limit_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='brand',
            constraint=models.CheckConstraint(condition=models.Q(('monthly_point_limit__isnull', True), ('monthly_point_limit__gte', 0), _connector='OR'), name='brand_monthly_limit_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='brand',
            constraint=models.CheckConstraint(condition=models.Q(('points_expire', 'never'), models.Q(('points_expire', 'days'), ('points_expire_after__range', (1, 3650))), models.Q(('points_expire', 'months'), ('points_expire_after__range', (1, 120))), models.Q(('points_expire', 'month_end'), ('points_expire_after__lte', 120)), models.Q(('points_expire', 'year_end'), ('points_expire_after__lte', 10)), _connector='OR'), name='brand_expiry_makes_sense', violation_error_message='Points expire after 1 to 3,650 days, 1 to 120 months, or 10 years at most.'),
        ),
        migrations.AddConstraint(
            model_name='brand',
            constraint=models.CheckConstraint(condition=models.Q(('expiry_warning_days__lte', 90)), name='brand_expiry_warning_in_time'),
        ),
        migrations.AddConstraint(
            model_name='quotamail',
            constraint=models.UniqueConstraint(fields=('brand', 'resource', 'percent', 'day'), name='quota_notice_once_a_day'),
        ),
        migrations.AddConstraint(
            model_name='stoppedattempts',
            constraint=models.UniqueConstraint(fields=('brand', 'hour', 'kind'), name='stopped_attempts_of_an_hour'),
        ),
        migrations.AddConstraint(
            model_name='stoppedattempts',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['codes', 'logins'])), name='stopped_kind_known'),
        ),
    ]
