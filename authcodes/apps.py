from django.apps import AppConfig


class AuthcodesConfig(AppConfig):
    name = "authcodes"
