"""The API's addresses for files of reference data."""

from django.urls import path

from portal.api import brand_exports, brand_imports

urlpatterns = [
    path("brand/imports/<slug:resource>", brand_imports.BrandImports.as_view()),
    path("brand/imports/<slug:resource>/<id:import_id>", brand_imports.BrandImport.as_view()),
    path("brand/imports/<slug:resource>/<id:import_id>/errors", brand_imports.BrandImportErrors.as_view()),
    path("brand/imports/<slug:resource>/<id:import_id>/confirm", brand_imports.BrandImportConfirmation.as_view()),
    path("brand/exports/<slug:resource>", brand_exports.BrandExport.as_view()),
]
