"""Names that staff read of models and fields, in place of those that Django makes up."""

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import core.gtins
import core.moments
from core.db.names_only import NamesOnly


class Migration(NamesOnly):
    dependencies = [
        ("authcodes", "0012_label_layouts_and_print_orders"),
        ("brands", "0016_names_for_people"),
        ("campaigns", "0013_names_for_people"),
        ("jobs", "0006_names_for_people"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="authcode",
            options={"ordering": ["-id"], "verbose_name": "code", "verbose_name_plural": "codes"},
        ),
        migrations.AlterModelOptions(
            name="codechange",
            options={"ordering": ["-id"], "verbose_name": "code change", "verbose_name_plural": "code changes"},
        ),
        migrations.AlterModelOptions(
            name="import",
            options={"ordering": ["-id"], "verbose_name": "import", "verbose_name_plural": "imports"},
        ),
        migrations.AlterModelOptions(
            name="printer",
            options={"ordering": ["name", "id"], "verbose_name": "printer", "verbose_name_plural": "printers"},
        ),
        migrations.AlterModelOptions(
            name="printrun",
            options={"ordering": ["-id"], "verbose_name": "print run", "verbose_name_plural": "print runs"},
        ),
        migrations.AlterModelOptions(
            name="product",
            options={"ordering": ["title", "id"], "verbose_name": "product", "verbose_name_plural": "products"},
        ),
        migrations.AlterModelOptions(
            name="recall",
            options={"ordering": ["-recalled_at", "-id"], "verbose_name": "recall", "verbose_name_plural": "recalls"},
        ),
        migrations.AlterModelOptions(
            name="scan",
            options={"ordering": ["-scanned_at", "-scan_id"], "verbose_name": "scan", "verbose_name_plural": "scans"},
        ),
        migrations.AlterModelOptions(
            name="withdrawnrecall",
            options={
                "ordering": ["-withdrawn_at", "-id"],
                "verbose_name": "withdrawn recall",
                "verbose_name_plural": "withdrawn recalls",
            },
        ),
        migrations.AlterField(
            model_name="authcode",
            name="batch",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="codes",
                to="authcodes.batchrange",
                verbose_name="batch",
            ),
        ),
        migrations.AlterField(
            model_name="authcode",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="authcode",
            name="code",
            field=models.CharField(db_collation="C", max_length=64, verbose_name="code"),
        ),
        migrations.AlterField(
            model_name="authcode",
            name="created_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="created at"
            ),
        ),
        migrations.AlterField(
            model_name="authcode",
            name="deactivated_at",
            field=core.moments.MomentField(blank=True, editable=False, null=True, verbose_name="deactivated at"),
        ),
        migrations.AlterField(
            model_name="authcode",
            name="first_scan_at",
            field=core.moments.MomentField(blank=True, editable=False, null=True, verbose_name="first scan at"),
        ),
        migrations.AlterField(
            model_name="authcode",
            name="first_scan_location",
            field=models.CharField(blank=True, editable=False, max_length=200, verbose_name="first scan location"),
        ),
        migrations.AlterField(
            model_name="authcode",
            name="inventory_location",
            field=models.CharField(blank=True, max_length=120, verbose_name="inventory location"),
        ),
        migrations.AlterField(
            model_name="authcode",
            name="location",
            field=models.CharField(blank=True, max_length=120, verbose_name="location"),
        ),
        migrations.AlterField(
            model_name="authcode",
            name="notes",
            field=models.TextField(blank=True, verbose_name="notes"),
        ),
        migrations.AlterField(
            model_name="authcode",
            name="points_per_scan",
            field=models.PositiveIntegerField(
                blank=True, help_text="Leave empty for the batch's points.", null=True, verbose_name="points per scan"
            ),
        ),
        migrations.AlterField(
            model_name="authcode",
            name="product",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="codes",
                to="authcodes.product",
                verbose_name="product",
            ),
        ),
        migrations.AlterField(
            model_name="authcode",
            name="scan_count",
            field=models.PositiveIntegerField(default=0, editable=False, verbose_name="scan count"),
        ),
        migrations.AlterField(
            model_name="batchrange",
            name="brand",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="batches",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="batchrange",
            name="campaign",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="batches",
                to="campaigns.campaign",
                verbose_name="campaign",
            ),
        ),
        migrations.AlterField(
            model_name="batchrange",
            name="created_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="created at"
            ),
        ),
        migrations.AlterField(
            model_name="batchrange",
            name="created_by",
            field=models.ForeignKey(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="created by",
            ),
        ),
        migrations.AlterField(
            model_name="batchrange",
            name="error_correction",
            field=models.CharField(
                choices=[
                    ("L", "L: 7 % may be damaged"),
                    ("M", "M: 15 % (recommended)"),
                    ("Q", "Q: 25 %"),
                    ("H", "H: 30 %"),
                ],
                default="M",
                help_text="How much of a QR code can be damaged and still scan. A higher level makes its modules smaller.",
                max_length=1,
                verbose_name="error correction",
            ),
        ),
        migrations.AlterField(
            model_name="batchrange",
            name="expiration_date",
            field=core.moments.DayField(
                blank=True,
                help_text="The last day, in the brand's time zone.",
                null=True,
                verbose_name="expiration date",
            ),
        ),
        migrations.AlterField(
            model_name="batchrange",
            name="first_code",
            field=models.CharField(db_collation="C", editable=False, max_length=64, verbose_name="first code"),
        ),
        migrations.AlterField(
            model_name="batchrange",
            name="generated_count",
            field=models.PositiveIntegerField(default=0, editable=False, verbose_name="codes generated"),
        ),
        migrations.AlterField(
            model_name="batchrange",
            name="last_code",
            field=models.CharField(db_collation="C", editable=False, max_length=64, verbose_name="last code"),
        ),
        migrations.AlterField(
            model_name="batchrange",
            name="number_width",
            field=models.PositiveSmallIntegerField(
                default=10, help_text="Digits of the zero-padded number.", verbose_name="number width"
            ),
        ),
        migrations.AlterField(
            model_name="batchrange",
            name="points_per_scan",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Leave empty for the product's points, else the member level's, else 1 point.",
                null=True,
                verbose_name="points per scan",
            ),
        ),
        migrations.AlterField(
            model_name="batchrange",
            name="prefix",
            field=models.CharField(blank=True, db_collation="C", max_length=32, verbose_name="prefix"),
        ),
        migrations.AlterField(
            model_name="batchrange",
            name="product",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="batches",
                to="authcodes.product",
                verbose_name="product",
            ),
        ),
        migrations.AlterField(
            model_name="batchrange",
            name="quantity",
            field=models.PositiveIntegerField(
                validators=[django.core.validators.MinValueValidator(1)], verbose_name="quantity"
            ),
        ),
        migrations.AlterField(
            model_name="batchrange",
            name="range_name",
            field=models.CharField(max_length=120, verbose_name="range name"),
        ),
        migrations.AlterField(
            model_name="batchrange",
            name="scan_limit",
            field=models.PositiveIntegerField(
                blank=True,
                default=1,
                help_text="Leave empty for unlimited scans.",
                null=True,
                validators=[django.core.validators.MinValueValidator(1)],
                verbose_name="scan limit",
            ),
        ),
        migrations.AlterField(
            model_name="batchrange",
            name="starting_number",
            field=models.PositiveBigIntegerField(default=1, verbose_name="starting number"),
        ),
        migrations.AlterField(
            model_name="batchrange",
            name="tag_version",
            field=models.PositiveSmallIntegerField(
                blank=True,
                editable=False,
                help_text="Signed batch: version of the secret behind its tags.",
                null=True,
                verbose_name="tag version",
            ),
        ),
        migrations.AlterField(
            model_name="codechange",
            name="batch",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="changes",
                to="authcodes.batchrange",
                verbose_name="batch",
            ),
        ),
        migrations.AlterField(
            model_name="codechange",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="codechange",
            name="detail",
            field=models.TextField(blank=True, help_text="What was set.", verbose_name="detail"),
        ),
        migrations.AlterField(
            model_name="codechange",
            name="first_code",
            field=models.CharField(db_collation="C", max_length=64, verbose_name="first code"),
        ),
        migrations.AlterField(
            model_name="codechange",
            name="kind",
            field=models.CharField(
                choices=[
                    ("generated", "Generated"),
                    ("assigned", "Assigned"),
                    ("unassigned", "Unassigned"),
                    ("imported", "Assigned by import"),
                    ("import_undone", "Import undone"),
                    ("deactivated", "Deactivated"),
                    ("reactivated", "Reactivated"),
                    ("recalled", "Recalled"),
                    ("recall_withdrawn", "Recall withdrawn"),
                    ("edited", "Edited"),
                    ("printed", "Printed elsewhere"),
                    ("delivered", "Delivered to shops"),
                    ("delivery_undone", "Delivery undone"),
                ],
                max_length=16,
                verbose_name="kind",
            ),
        ),
        migrations.AlterField(
            model_name="codechange",
            name="last_code",
            field=models.CharField(db_collation="C", max_length=64, verbose_name="last code"),
        ),
        migrations.AlterField(
            model_name="codechange",
            name="product",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="authcodes.product",
                verbose_name="product",
            ),
        ),
        migrations.AlterField(
            model_name="codechange",
            name="reason",
            field=models.TextField(blank=True, verbose_name="reason"),
        ),
        migrations.AlterField(
            model_name="codeprefix",
            name="brand",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="code_prefixes",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="codeprefix",
            name="prefix",
            field=models.CharField(blank=True, db_collation="C", max_length=32, verbose_name="prefix"),
        ),
        migrations.AlterField(
            model_name="fakereport",
            name="auth_code",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="authcodes.authcode",
                verbose_name="known code",
            ),
        ),
        migrations.AlterField(
            model_name="fakereport",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="import",
            name="bad_rows",
            field=models.PositiveIntegerField(default=0, verbose_name="rows with errors"),
        ),
        migrations.AlterField(
            model_name="import",
            name="batch",
            field=models.OneToOneField(
                blank=True,
                editable=False,
                help_text="The batch that codes printed elsewhere became.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="printed_import",
                to="authcodes.batchrange",
                verbose_name="batch",
            ),
        ),
        migrations.AlterField(
            model_name="import",
            name="brand",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="imports",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="import",
            name="codes",
            field=models.PositiveIntegerField(
                default=0, help_text="Codes in the rows without errors.", verbose_name="codes"
            ),
        ),
        migrations.AlterField(
            model_name="import",
            name="committed_at",
            field=core.moments.MomentField(blank=True, null=True, verbose_name="committed at"),
        ),
        migrations.AlterField(
            model_name="import",
            name="file",
            field=models.FileField(
                help_text="Deleted with its rows some weeks after the import ended.",
                max_length=255,
                upload_to="imports/%Y/%m/",
                verbose_name="file",
            ),
        ),
        migrations.AlterField(
            model_name="import",
            name="file_name",
            field=models.CharField(max_length=200, verbose_name="file name"),
        ),
        migrations.AlterField(
            model_name="import",
            name="kind",
            field=models.CharField(
                choices=[
                    ("list", "List of codes (auth_code, inventory_location, notes)"),
                    ("ranges", "Ranges (product_sku, auth_code_start, auth_code_end, location, points_per_scan)"),
                    ("printed", "Codes printed elsewhere (auth_code, payload, inventory_location, notes)"),
                ],
                max_length=7,
                verbose_name="kind",
            ),
        ),
        migrations.AlterField(
            model_name="import",
            name="problem",
            field=models.TextField(blank=True, help_text="Why the file was rejected.", verbose_name="problem"),
        ),
        migrations.AlterField(
            model_name="import",
            name="product",
            field=models.ForeignKey(
                blank=True,
                help_text="The product of a list of codes.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="authcodes.product",
                verbose_name="product",
            ),
        ),
        migrations.AlterField(
            model_name="import",
            name="repaired_rows",
            field=models.PositiveIntegerField(
                default=0, help_text="Rows whose leading zeros were restored.", verbose_name="repaired rows"
            ),
        ),
        migrations.AlterField(
            model_name="import",
            name="rows",
            field=models.PositiveIntegerField(default=0, verbose_name="rows"),
        ),
        migrations.AlterField(
            model_name="import",
            name="status",
            field=models.CharField(
                choices=[
                    ("checking", "Being checked"),
                    ("refused", "Rejected: the file cannot be read"),
                    ("checked", "Checked: review the preview"),
                    ("committing", "Being committed"),
                    ("committed", "Committed"),
                    ("undoing", "Being undone"),
                    ("undone", "Undone"),
                    ("discarded", "Discarded"),
                ],
                default="checking",
                max_length=10,
                verbose_name="status",
            ),
        ),
        migrations.AlterField(
            model_name="import",
            name="undone_at",
            field=core.moments.MomentField(blank=True, null=True, verbose_name="undone at"),
        ),
        migrations.AlterField(
            model_name="import",
            name="uploaded_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="uploaded at"
            ),
        ),
        migrations.AlterField(
            model_name="import",
            name="uploaded_by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="uploaded by",
            ),
        ),
        migrations.AlterField(
            model_name="printer",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="printers",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="printrun",
            name="batch",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                help_text="Empty for codes from a list, which may come from several batches.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="print_runs",
                to="authcodes.batchrange",
                verbose_name="batch",
            ),
        ),
        migrations.AlterField(
            model_name="printrun",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="print_runs",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="printrun",
            name="first_code",
            field=models.CharField(db_collation="C", max_length=64, verbose_name="first code"),
        ),
        migrations.AlterField(
            model_name="printrun",
            name="job",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="print_run", to="jobs.job", verbose_name="job"
            ),
        ),
        migrations.AlterField(
            model_name="printrun",
            name="last_code",
            field=models.CharField(db_collation="C", max_length=64, verbose_name="last code"),
        ),
        migrations.AlterField(
            model_name="printrun",
            name="pages",
            field=models.PositiveIntegerField(
                blank=True, help_text="For label sheets.", null=True, verbose_name="pages"
            ),
        ),
        migrations.AlterField(
            model_name="printrun",
            name="pages_read",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Pages that were read back from the finished file.",
                null=True,
                verbose_name="pages read",
            ),
        ),
        migrations.AlterField(
            model_name="printrun",
            name="read_back",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Codes that were read back from the output and matched.",
                null=True,
                verbose_name="read back",
            ),
        ),
        migrations.AlterField(
            model_name="product",
            name="brand",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="products",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="product",
            name="category",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="For earning rules, such as Serums.",
                max_length=80,
                verbose_name="category",
            ),
        ),
        migrations.AlterField(
            model_name="product",
            name="created_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="created at"
            ),
        ),
        migrations.AlterField(
            model_name="product",
            name="gtin",
            field=models.CharField(
                blank=True,
                max_length=14,
                validators=[
                    django.core.validators.RegexValidator("^([0-9]{8}|[0-9]{12,14})$", "8, 12, 13 or 14 digits."),
                    core.gtins.validate_check_digit,
                ],
                verbose_name="GTIN",
            ),
        ),
        migrations.AlterField(
            model_name="product",
            name="redeem_point_value",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Points of a scan, regardless of the member's level. Enter 0 or leave empty to use the level's points.",
                null=True,
                verbose_name="points per scan",
            ),
        ),
        migrations.AlterField(
            model_name="product",
            name="retail_price",
            field=models.DecimalField(
                blank=True,
                decimal_places=2,
                max_digits=12,
                null=True,
                validators=[django.core.validators.MinValueValidator(0)],
                verbose_name="retail price",
            ),
        ),
        migrations.AlterField(
            model_name="product",
            name="sku",
            field=models.CharField(max_length=64, verbose_name="SKU"),
        ),
        migrations.AlterField(
            model_name="product",
            name="tags",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=40),
                blank=True,
                db_default=[],
                default=list,
                help_text="For earning rules; separate them with commas.",
                size=20,
                verbose_name="tags",
            ),
        ),
        migrations.AlterField(
            model_name="product",
            name="title",
            field=models.CharField(max_length=200, verbose_name="title"),
        ),
        migrations.AlterField(
            model_name="product",
            name="updated_at",
            field=core.moments.MomentField(
                db_default=django.db.models.functions.datetime.Now(),
                editable=False,
                help_text="Set by the database with every change.",
                verbose_name="updated at",
            ),
        ),
        migrations.AlterField(
            model_name="recall",
            name="batch",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="recall",
                to="authcodes.batchrange",
                verbose_name="batch",
            ),
        ),
        migrations.AlterField(
            model_name="recall",
            name="contact",
            field=models.CharField(
                help_text="Phone, e-mail or page for affected customers.", max_length=200, verbose_name="contact"
            ),
        ),
        migrations.AlterField(
            model_name="recall",
            name="message",
            field=models.TextField(help_text="What the customer should do.", verbose_name="message"),
        ),
        migrations.AlterField(
            model_name="recall",
            name="reason",
            field=models.TextField(help_text="For staff only.", verbose_name="reason"),
        ),
        migrations.AlterField(
            model_name="recall",
            name="recall_id",
            field=models.CharField(
                help_text="The number customers and authorities know it by.", max_length=64, verbose_name="recall id"
            ),
        ),
        migrations.AlterField(
            model_name="recall",
            name="recalled_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="recalled at"
            ),
        ),
        migrations.AlterField(
            model_name="recall",
            name="recalled_by",
            field=models.ForeignKey(
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="recalled by",
            ),
        ),
        migrations.AlterField(
            model_name="scan",
            name="app_version",
            field=models.CharField(blank=True, max_length=40, verbose_name="app version"),
        ),
        migrations.AlterField(
            model_name="scan",
            name="auth_code",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="scans",
                to="authcodes.authcode",
                verbose_name="code",
            ),
        ),
        migrations.AlterField(
            model_name="scan",
            name="batch",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="authcodes.batchrange",
                verbose_name="batch",
            ),
        ),
        migrations.AlterField(
            model_name="scan",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="scan",
            name="campaign",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="campaigns.campaign",
                verbose_name="campaign",
            ),
        ),
        migrations.AlterField(
            model_name="scan",
            name="code",
            field=models.CharField(help_text="As scanned, shortened.", max_length=64, verbose_name="code"),
        ),
        migrations.AlterField(
            model_name="scan",
            name="device",
            field=models.CharField(blank=True, max_length=120, verbose_name="device"),
        ),
        migrations.AlterField(
            model_name="scan",
            name="location",
            field=models.CharField(blank=True, help_text="City, region.", max_length=200, verbose_name="location"),
        ),
        migrations.AlterField(
            model_name="scan",
            name="outcome",
            field=models.CharField(
                choices=[("success", "Success"), ("warning", "Warning"), ("error", "Error")],
                max_length=7,
                verbose_name="outcome",
            ),
        ),
        migrations.AlterField(
            model_name="scan",
            name="points_awarded",
            field=models.DecimalField(decimal_places=2, default=0, max_digits=10, verbose_name="points awarded"),
        ),
        migrations.AlterField(
            model_name="scan",
            name="points_promised",
            field=models.DecimalField(decimal_places=2, default=0, max_digits=10, verbose_name="points promised"),
        ),
        migrations.AlterField(
            model_name="scan",
            name="points_status",
            field=models.CharField(
                choices=[
                    ("pending", "Pending"),
                    ("awarded", "Awarded"),
                    ("guest", "Guest: no points"),
                    ("unconfirmed", "Waits for a confirmed e-mail address"),
                    ("lapsed", "Not claimed in time"),
                    ("already_claimed", "Already claimed"),
                    ("not_eligible", "Not eligible"),
                    ("limited", "Point limit reached"),
                ],
                max_length=16,
                verbose_name="points status",
            ),
        ),
        migrations.AlterField(
            model_name="scan",
            name="product",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="authcodes.product",
                verbose_name="product",
            ),
        ),
        migrations.AlterField(
            model_name="scan",
            name="reason",
            field=models.CharField(
                choices=[
                    ("accepted", "Accepted"),
                    ("campaign_inactive", "Accepted; its campaign is not running"),
                    ("product_inactive", "Accepted; its product is no longer sold"),
                    ("limit_reached", "Scan limit reached"),
                    ("reserved", "Reserved for a guest"),
                    ("recalled", "Batch recalled"),
                    ("unknown", "Unknown code"),
                    ("bad_tag", "Signature missing or wrong"),
                    ("other_brand", "Code of another brand"),
                    ("expired", "Expired"),
                    ("deactivated", "Deactivated"),
                    ("unassigned", "No product assigned"),
                ],
                max_length=20,
                verbose_name="reason",
            ),
        ),
        migrations.AlterField(
            model_name="scan",
            name="scan_count",
            field=models.PositiveIntegerField(
                default=0, help_text="Number of scans of the code, including this one.", verbose_name="scan count"
            ),
        ),
        migrations.AlterField(
            model_name="scan",
            name="scanned_at",
            field=core.moments.MomentField(default=django.utils.timezone.now, verbose_name="scanned at"),
        ),
        migrations.AlterField(
            model_name="scan",
            name="user",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="scans",
                to=settings.AUTH_USER_MODEL,
                verbose_name="customer",
            ),
        ),
        migrations.AlterField(
            model_name="withdrawnrecall",
            name="batch",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="withdrawn_recalls",
                to="authcodes.batchrange",
                verbose_name="batch",
            ),
        ),
        migrations.AlterField(
            model_name="withdrawnrecall",
            name="contact",
            field=models.CharField(max_length=200, verbose_name="contact"),
        ),
        migrations.AlterField(
            model_name="withdrawnrecall",
            name="message",
            field=models.TextField(verbose_name="message"),
        ),
        migrations.AlterField(
            model_name="withdrawnrecall",
            name="reason",
            field=models.TextField(verbose_name="reason"),
        ),
        migrations.AlterField(
            model_name="withdrawnrecall",
            name="recall_id",
            field=models.CharField(max_length=64, verbose_name="recall id"),
        ),
        migrations.AlterField(
            model_name="withdrawnrecall",
            name="recalled_at",
            field=core.moments.MomentField(verbose_name="recalled at"),
        ),
        migrations.AlterField(
            model_name="withdrawnrecall",
            name="recalled_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="recalled by",
            ),
        ),
        migrations.AlterField(
            model_name="withdrawnrecall",
            name="withdrawal_reason",
            field=models.TextField(verbose_name="withdrawal reason"),
        ),
        migrations.AlterField(
            model_name="withdrawnrecall",
            name="withdrawn_at",
            field=core.moments.MomentField(default=django.utils.timezone.now, verbose_name="withdrawn at"),
        ),
        migrations.AlterField(
            model_name="withdrawnrecall",
            name="withdrawn_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="withdrawn by",
            ),
        ),
    ]
