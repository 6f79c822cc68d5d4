import core.encryption
import core.moments
import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('brands', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='SignInSettings',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('brand', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='sign_in_settings', to='brands.brand', verbose_name='brand')),
                ('second_factor_required', models.BooleanField(default=False, help_text='Everybody who works for the brand must set up a second factor the next time they log in.', verbose_name='second factor required')),
                ('oidc_active', models.BooleanField(default=False, help_text='Staff may also log in through the identity provider, and then see this brand only.', verbose_name='identity provider active')),
                ('oidc_issuer', models.CharField(blank=True, help_text='Enter the issuer as the provider states it, such as https://login.example.com/realms/staff', max_length=500, verbose_name='issuer')),
                ('oidc_client_id', models.CharField(blank=True, max_length=200, verbose_name='client id')),
                ('oidc_client_secret', core.encryption.EncryptedTextField(blank=True, default='', verbose_name='client secret')),
            ],
            options={
                'verbose_name': 'staff login',
                'verbose_name_plural': 'staff login',
                'ordering': ['brand_id'],
                'constraints': [models.CheckConstraint(condition=models.Q(('oidc_active', False), models.Q(('oidc_issuer', ''), ('oidc_client_id', ''), ('oidc_client_secret', ''), _connector='OR', _negated=True), _connector='OR'), name='active_provider_is_complete', violation_error_message='An active identity provider needs issuer, client id and client secret.')],
            },
        ),
        migrations.CreateModel(
            name='Factor',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='factors', to=settings.AUTH_USER_MODEL)),
                ('kind', models.CharField(choices=[('totp', 'Authenticator app'), ('passkey', 'Passkey or security key')], max_length=10)),
                ('name', models.CharField(blank=True, max_length=60)),
                ('secret', core.encryption.EncryptedTextField(help_text="An app's seed in base32, a passkey's credential data in base64.")),
                ('last_counter', models.BigIntegerField(default=-1, help_text="The time step of the last code, or a passkey's signature counter.", verbose_name='last counter')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('last_used_at', core.moments.MomentField(blank=True, null=True)),
            ],
            options={
                'verbose_name': 'factor',
                'verbose_name_plural': 'factors',
                'ordering': ['created_at', 'id'],
                'constraints': [models.CheckConstraint(condition=models.Q(('kind__in', ['totp', 'passkey'])), name='factor_kind_known'), models.UniqueConstraint(condition=models.Q(('kind', 'totp')), fields=('user',), name='one_app_per_user')],
            },
        ),
        migrations.CreateModel(
            name='RecoveryCode',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='recovery_codes', to=settings.AUTH_USER_MODEL)),
                ('digest', models.BinaryField(max_length=32)),
                ('used_at', core.moments.MomentField(blank=True, null=True)),
            ],
            options={
                'verbose_name': 'recovery code',
                'verbose_name_plural': 'recovery codes',
                'ordering': ['id'],
                'constraints': [models.UniqueConstraint(fields=('user', 'digest'), name='recovery_code_unique')],
            },
        ),
        migrations.CreateModel(
            name='StaffSession',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='staff_sessions', to=settings.AUTH_USER_MODEL)),
                ('session_key', models.CharField(max_length=40, unique=True, verbose_name='session key')),
                ('brand', models.ForeignKey(help_text='The brand whose identity provider logged the person in. They see no other brand.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('network', models.CharField(help_text='The IP address or, for IPv6, its network.', max_length=50, verbose_name='network')),
                ('device', models.CharField(blank=True, max_length=120)),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('last_seen_at', core.moments.MomentField(default=django.utils.timezone.now, verbose_name='last seen at')),
            ],
            options={
                'verbose_name': 'staff session',
                'verbose_name_plural': 'staff sessions',
                'ordering': ['-last_seen_at', '-id'],
            },
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='brands.brand', verbose_name='brand')),
                ('email', models.EmailField(max_length=254, verbose_name='e-mail address')),
                ('role', models.CharField(choices=[('owner', 'Owner'), ('manager', 'Manager'), ('printer', 'Printer (codes and print)'), ('support', 'Support (read and search)')], max_length=10, verbose_name='role')),
                ('invited_by', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='invited by')),
                ('digest', models.BinaryField(max_length=32, null=True, verbose_name='digest')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='invited')),
                ('expires_at', core.moments.MomentField(editable=False, verbose_name='expires')),
                ('accepted_at', core.moments.MomentField(editable=False, null=True, verbose_name='accepted')),
                ('revoked_at', core.moments.MomentField(editable=False, null=True, verbose_name='revoked')),
                ('mailed_at', core.moments.MomentField(editable=False, null=True, verbose_name='mailed')),
                ('failed_mails', models.PositiveSmallIntegerField(db_default=0, default=0, editable=False, verbose_name='failed mails')),
            ],
            options={
                'verbose_name': 'invitation',
                'verbose_name_plural': 'invitations',
                'ordering': ['-created_at', '-id'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('accepted_at', None), ('revoked_at', None)), fields=('brand', 'email'), name='one_open_invitation_per_address'), models.UniqueConstraint(fields=('digest',), name='invitation_digest_unique'), models.CheckConstraint(condition=models.Q(('email', django.db.models.functions.text.Lower('email'))), name='invitation_email_is_lowercase'), models.CheckConstraint(condition=models.Q(('role__in', ['owner', 'manager', 'printer', 'support'])), name='invitation_role_known')],
            },
        ),
        migrations.CreateModel(
            name='StaffMail',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('user', models.ForeignKey(help_text='Empty if the address that was typed belongs to nobody. The process is the same, but no mail is sent.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='staff_mails', to=settings.AUTH_USER_MODEL)),
                ('invitation', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='mails', to='staff_login.invitation', verbose_name='invitation')),
                ('kind', models.CharField(choices=[('password_link', 'Link to set a new password'), ('factors_link', 'Link to remove second factors'), ('notification', 'Notification of a change'), ('invitation', 'Invitation to work for a brand'), ('quota', 'Notification of a quota'), ('report', 'Scheduled report'), ('report_failed', 'Scheduled report that failed'), ('budget', 'Budget that is used up'), ('campaign_budget', 'Campaign budget that is used up')], max_length=20)),
                ('origin', models.CharField(help_text='The origin of the portal, with which its links begin.', max_length=300, verbose_name='origin')),
                ('text', models.CharField(blank=True, help_text="In the receiver's language.", max_length=1000, verbose_name='text')),
                ('language', models.CharField(blank=True, db_default='', default='', help_text='The language of the text. Without a text, the language is decided when the mail is sent.', max_length=7, verbose_name='language')),
                ('path', models.CharField(blank=True, db_default='', help_text='The path of the portal page that the link opens.', max_length=200, verbose_name='path')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('sent_at', core.moments.MomentField(blank=True, null=True, verbose_name='sent at')),
                ('used_at', core.moments.MomentField(blank=True, null=True)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
            ],
            options={
                'verbose_name': 'staff mail',
                'verbose_name_plural': 'staff mails',
                'ordering': ['id'],
                'indexes': [models.Index(condition=models.Q(('sent_at', None)), fields=['id'], name='staff_mail_to_send')],
                'constraints': [models.CheckConstraint(condition=models.Q(('kind__in', ['password_link', 'factors_link', 'notification', 'invitation', 'quota', 'report', 'report_failed', 'budget', 'campaign_budget'])), name='staff_mail_kind_known')],
            },
        ),
    ]
