"""The API's addresses of codes and scans: first what is asked for most."""

from django.urls import path

from authcodes.api import codes, data_exports, fake_reports, qr_images, scans

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
]
