"""The API's URLs of codes and scans, most requested first."""

from django.urls import path

from authcodes.api import (
    brand_batches,
    brand_codes,
    brand_products,
    codes,
    data_exports,
    fake_reports,
    qr_images,
    scans,
)

urlpatterns = [
    path("verify/product/<scanned:auth_code>", scans.VerifyProduct.as_view()),
    path("auth-codes/scan", scans.ScanCode.as_view()),
    path("customer/data", data_exports.DataExportFile.as_view(), name="data-export-file"),
    path("customer/data-export", data_exports.DataExports.as_view()),
    path("fake-reports", fake_reports.FakeReports.as_view()),
    path("batch-ranges/<id:batch_id>/qr-codes", codes.BatchQrCodes.as_view()),
    path("auth-codes/validate", scans.ValidateCode.as_view()),
    path("auth-codes/<code:code>/scans", codes.CodeScans.as_view()),
    path("scans/<uuid:scan_id>", scans.ScanState.as_view()),
    path("scans/<uuid:scan_id>/adopt", scans.AdoptScan.as_view()),
    path("scans/<uuid:scan_id>/place", scans.PlaceScan.as_view()),
    path("qr-codes/<code:code>.png", qr_images.PngImage.as_view(), name="qr-image-png"),
    path("qr-codes/<code:code>.svg", qr_images.SvgImage.as_view(), name="qr-image-svg"),
    path("brand/products", brand_products.BrandProducts.as_view()),
    path("brand/products/<id:product_id>", brand_products.BrandProduct.as_view()),
    path("brand/batches", brand_batches.BrandBatches.as_view()),
    path("brand/batches/<id:batch_id>", brand_batches.BrandBatch.as_view()),
    path("brand/batches/<id:batch_id>/recall", brand_batches.BatchRecall.as_view()),
    path("brand/recalls", brand_batches.BrandRecalls.as_view()),
    path("brand/codes", brand_codes.BrandCodes.as_view()),
    path("brand/codes/<code:code>", brand_codes.BrandCode.as_view()),
    path("brand/code-changes", brand_codes.CodeChanges.as_view()),
    path("brand/scans", brand_codes.BrandScans.as_view()),
    path("brand/scans/<uuid:scan_id>", brand_codes.BrandScan.as_view()),
]
