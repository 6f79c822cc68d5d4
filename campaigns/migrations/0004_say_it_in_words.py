"""Names of things as people say them."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0003_one_index_each'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='userloyaltycampaign',
            options={'ordering': ['-updated_at', '-id'], 'verbose_name': 'campaign progress', 'verbose_name_plural': 'campaign progress'},
        ),
    ]
