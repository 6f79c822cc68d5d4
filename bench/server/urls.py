"""The platform's addresses and, on the same server, the views that it is compared with."""

from django.urls import path

from bench.server import slow_pages, views
from config import urls as platform

urlpatterns = [
    path("admin/bench/heavy", slow_pages.view),
    *platform.urlpatterns,
    path("bench/empty/<code:code>", views.Empty.as_view()),
    path("bench/lean/<code:code>", views.LeanEmpty.as_view()),
    path("bench/orm/<code:code>", views.OrmScan.as_view()),
]

handler400 = platform.handler400
handler403 = platform.handler403
handler404 = platform.handler404
handler500 = platform.handler500
