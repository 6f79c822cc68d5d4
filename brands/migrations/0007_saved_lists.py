"""Adds the lists that staff saved with their filters."""


import core.moments
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0006_sandbox_brands'),
    ]

    operations = [
        migrations.CreateModel(
            name='SavedList',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80, validators=[django.core.validators.RegexValidator('^[^\\x00-\\x1f\\x7f]*$', 'Do not use control characters.')], verbose_name='name')),
                ('model_label', models.CharField(editable=False, help_text='Of which rows: app.model, in lowercase.', max_length=100, verbose_name='list')),
                ('query', models.JSONField(default=dict, editable=False, help_text="The values of each parameter of the list's address.", verbose_name='filters')),
                ('is_shared', models.BooleanField(default=False, help_text='Colleagues of the brand who may see such a list can open this one and send it on a schedule.', verbose_name='shared')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='saved')),
                ('changed_at', core.moments.MomentField(auto_now=True, verbose_name='changed')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand', verbose_name='brand')),
                ('owner', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='saved_lists', to=settings.AUTH_USER_MODEL, verbose_name='owner')),
            ],
            options={
                'verbose_name': 'saved list',
                'verbose_name_plural': 'saved lists',
                'ordering': ['name', 'id'],
                'constraints': [models.UniqueConstraint(fields=('brand', 'owner', 'name'), name='saved_list_name_once', violation_error_message='You have already saved a list under this name.')],
            },
        ),
    ]
