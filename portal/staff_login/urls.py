"""The addresses of sign-in pages, below the portal's own."""

from typing import Any

from django.urls import URLPattern, path

from portal.staff_login import account, invitation_views, oidc_views, views


def urls(site: Any) -> list[URLPattern]:
    """Pages before the login are public; those of the user's own account require the portal's login."""
    return [
        path("second-factor/", views.second_factor, name="second_factor"),
        path("second-factor/set-up/", views.second_factor_setup, name="second_factor_setup"),
        path("password/forgot/", views.forgot, name="forgot_password"),
        path("password/forgot/sent/", views.forgot_sent, name="forgot_password_sent"),
        path("password/new/<str:token>/", views.new_password, name="new_password"),
        path("second-factor/remove/<str:token>/", views.remove_factors, name="remove_factors"),
        path("invitation/<str:token>/", invitation_views.accept_invitation, name="accept_invitation"),
        path("sign-in/<slug:slug>/", oidc_views.begin, name="brand_sign_in"),
        path("sign-in/<slug:slug>/done/", oidc_views.done, name="brand_sign_in_done"),
        *(path(route, site.admin_view(view), name=name) for name, (route, view) in account.PAGES.items()),
    ]
