from django.apps import AppConfig


class LoyaltyConfig(AppConfig):
    name = "loyalty"
