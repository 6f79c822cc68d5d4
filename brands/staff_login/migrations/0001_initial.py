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
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('email', models.EmailField(max_length=254, verbose_name='e-mail address')),
                ('role', models.CharField(choices=[('owner', 'Owner'), ('manager', 'Manager'), ('printer', 'Printer (codes and print)'), ('support', 'Support (read and search)')], max_length=10, verbose_name='role')),
                ('digest', models.BinaryField(max_length=32, null=True, verbose_name='digest')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='invited')),
                ('expires_at', core.moments.MomentField(editable=False, verbose_name='expires')),
                ('accepted_at', core.moments.MomentField(editable=False, null=True, verbose_name='accepted')),
                ('revoked_at', core.moments.MomentField(editable=False, null=True, verbose_name='revoked')),
                ('mailed_at', core.moments.MomentField(editable=False, null=True, verbose_name='mailed')),
                ('failed_mails', models.PositiveSmallIntegerField(db_default=0, default=0, editable=False, verbose_name='failed mails')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='brands.brand', verbose_name='brand')),
                ('invited_by', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='invited by')),
            ],
            options={
                'verbose_name': 'invitation',
                'verbose_name_plural': 'invitations',
                'ordering': ['-created_at', '-id'],
            },
        ),
        migrations.CreateModel(
            name='RecoveryCode',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.BinaryField(max_length=32)),
                ('used_at', core.moments.MomentField(blank=True, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='recovery_codes', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'recovery code',
                'verbose_name_plural': 'recovery codes',
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='SignInSettings',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('second_factor_required', models.BooleanField(default=False, help_text='Everybody who works for the brand must set up a second factor the next time they log in.', verbose_name='second factor required')),
                ('oidc_active', models.BooleanField(default=False, help_text='Staff may also sign in through the identity provider, and then see this brand only.', verbose_name='identity provider active')),
                ('oidc_issuer', models.CharField(blank=True, help_text='As the provider states it, such as https://login.example.com/realms/staff', max_length=500, verbose_name='issuer')),
                ('oidc_client_id', models.CharField(blank=True, max_length=200, verbose_name='client id')),
                ('oidc_client_secret', core.encryption.EncryptedTextField(blank=True, default='', verbose_name='client secret')),
                ('brand', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='sign_in_settings', to='brands.brand', verbose_name='brand')),
            ],
            options={
                'verbose_name': 'staff sign-in',
                'verbose_name_plural': 'staff sign-in',
                'ordering': ['brand_id'],
            },
        ),
        migrations.CreateModel(
            name='StaffMail',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('password_link', 'Link to set a new password'), ('factors_link', 'Link to remove second factors'), ('notice', 'Notification of a change'), ('invitation', 'Invitation to work for a brand'), ('quota', 'Notification of a quota')], max_length=20)),
                ('origin', models.CharField(help_text='Of the portal, as links begin.', max_length=300, verbose_name='origin')),
                ('text', models.CharField(blank=True, max_length=300, verbose_name='text')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('sent_at', core.moments.MomentField(blank=True, null=True, verbose_name='sent at')),
                ('used_at', core.moments.MomentField(blank=True, null=True)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('invitation', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='mails', to='staff_login.invitation', verbose_name='invitation')),
                ('user', models.ForeignKey(help_text="None where the address that was typed is nobody's: the work is the same, and no mail is sent.", null=True, on_delete=django.db.models.deletion.CASCADE, related_name='staff_mails', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'staff mail',
                'verbose_name_plural': 'staff mails',
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='StaffSession',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('session_key', models.CharField(max_length=40, unique=True, verbose_name='session key')),
                ('network', models.CharField(help_text='The address, of IPv6 its network.', max_length=50, verbose_name='network')),
                ('device', models.CharField(blank=True, max_length=120)),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('last_seen_at', core.moments.MomentField(default=django.utils.timezone.now, verbose_name='last seen at')),
                ('brand', models.ForeignKey(help_text='The brand whose identity provider let the person in; they see no other.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='staff_sessions', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'staff session',
                'verbose_name_plural': 'staff sessions',
                'ordering': ['-last_seen_at', '-id'],
            },
        ),
        migrations.CreateModel(
            name='Factor',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('totp', 'Authenticator app'), ('passkey', 'Passkey or security key')], max_length=10)),
                ('name', models.CharField(max_length=60)),
                ('secret', core.encryption.EncryptedTextField(help_text="An app's seed in base32, a passkey's credential data in base64.")),
                ('last_counter', models.BigIntegerField(default=-1, help_text="The time step of the last code, or a passkey's signature counter.", verbose_name='last counter')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('last_used_at', core.moments.MomentField(blank=True, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='factors', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'factor',
                'verbose_name_plural': 'factors',
                'ordering': ['created_at', 'id'],
                'constraints': [models.CheckConstraint(condition=models.Q(('kind__in', ['totp', 'passkey'])), name='factor_kind_known'), models.UniqueConstraint(condition=models.Q(('kind', 'totp')), fields=('user',), name='one_app_per_user')],
            },
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.UniqueConstraint(condition=models.Q(('accepted_at', None), ('revoked_at', None)), fields=('brand', 'email'), name='one_open_invitation_per_address'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.UniqueConstraint(fields=('digest',), name='invitation_digest_unique'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.CheckConstraint(condition=models.Q(('email', django.db.models.functions.text.Lower('email'))), name='invitation_email_is_lowercase'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['owner', 'manager', 'printer', 'support'])), name='invitation_role_known'),
        ),
        migrations.AddConstraint(
            model_name='recoverycode',
            constraint=models.UniqueConstraint(fields=('user', 'digest'), name='recovery_code_unique'),
        ),
        migrations.AddConstraint(
            model_name='signinsettings',
            constraint=models.CheckConstraint(condition=models.Q(('oidc_active', False), models.Q(('oidc_issuer', ''), ('oidc_client_id', ''), ('oidc_client_secret', ''), _connector='OR', _negated=True), _connector='OR'), name='active_provider_is_complete', violation_error_message='An active identity provider needs issuer, client id and client secret.'),
        ),
        migrations.AddIndex(
            model_name='staffmail',
            index=models.Index(condition=models.Q(('sent_at', None)), fields=['id'], name='staff_mail_to_send'),
        ),
        migrations.AddConstraint(
            model_name='staffmail',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['password_link', 'factors_link', 'notice', 'invitation', 'quota'])), name='staff_mail_kind_known'),
        ),
    ]
