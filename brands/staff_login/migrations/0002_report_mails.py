"""Adds the mails of scheduled reports."""


from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('staff_login', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='staffmail',
            name='staff_mail_kind_known',
        ),
        migrations.AddField(
            model_name='staffmail',
            name='path',
            field=models.CharField(blank=True, db_default='', help_text="Of the portal's page that the link opens.", max_length=200, verbose_name='path'),
        ),
        migrations.AlterField(
            model_name='staffmail',
            name='kind',
            field=models.CharField(choices=[('password_link', 'Link to set a new password'), ('factors_link', 'Link to remove second factors'), ('notice', 'Notification of a change'), ('invitation', 'Invitation to work for a brand'), ('quota', 'Notification of a quota'), ('report', 'Scheduled report'), ('report_failed', 'Scheduled report that failed')], max_length=20),
        ),
        migrations.AddConstraint(
            model_name='staffmail',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['password_link', 'factors_link', 'notice', 'invitation', 'quota', 'report', 'report_failed'])), name='staff_mail_kind_known'),
        ),
    ]
