"""Wiring: settings, ports between apps, addresses, Celery, the web server's threads, health and metrics."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
