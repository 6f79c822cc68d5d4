"""A row's picture goes when another replaces it or the row is deleted, also when two do so at once, and it fits in the
brand's storage."""

import io
from unittest import mock

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import QuerySet
from PIL import Image

from authcodes.models.products import Product
from brands.models.quotas import BrandQuota
from brands.models.tenants import Picture
from loyalty.models.rewards import Reward
from tests.support import factories
from tests.support.concurrency import run_concurrently_behind_lock, run_during_transaction
from tests.support.portal import address, browser, errors, form_of, staff

PRODUCT, REWARD = "authcodes.product", "loyalty.reward"
THE_PRODUCT = "SELECT FROM authcodes_product WHERE id = %s FOR UPDATE"


def upload(size):
    content = io.BytesIO()
    Image.new("RGB", size, "red").save(content, "PNG")
    return SimpleUploadedFile("picture.png", content.getvalue(), "image/png")


def upload_two_at_once(brand):
    BrandQuota.objects.create(brand=brand, resource="storage", limit=0)  # no limit: its lock would separate them
    client, product = browser(staff(brand)), factories.product(brand)
    form = address(PRODUCT, "change", product.pk)
    form_data = form_of(client.get(form))

    def save(size):
        return client.post(form, {**form_data, "picture_file": upload(size)}).status_code

    statuses = run_concurrently_behind_lock(THE_PRODUCT, [product.pk], save, [(30, 10), (10, 30)])
    assert statuses == [302, 302]
    return product


def without_locks():
    return mock.patch.object(QuerySet, "select_for_update", lambda rows, **_options: rows.all())


@pytest.mark.django_db(transaction=True)
def test_of_two_pictures_uploaded_at_once_only_the_products_own_is_stored():
    product = upload_two_at_once(factories.brand())

    assert Picture.objects.get().pk == Product.objects.get(pk=product.pk).picture_id


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_both_pictures_are_stored():
    with without_locks():
        upload_two_at_once(factories.brand())

    assert Picture.objects.count() == 2


@pytest.mark.parametrize("is_new", [True, False])
def test_what_was_typed_stays_where_a_picture_does_not_fit_in_the_storage(brand, is_new):
    client = browser(staff(brand))
    form = address(PRODUCT, "add") if is_new else address(PRODUCT, "change", factories.product(brand).pk)
    form_data = {**form_of(client.get(form)), "title": "Typed title", "sku": "typed", "picture_file": upload((30, 10))}
    BrandQuota.objects.create(brand=brand, resource="storage", limit=1)

    response = client.post(form, form_data)

    assert list(errors(response)) == ["picture_file"]
    assert "Your brand can store 1 bytes" in errors(response)["picture_file"][0]
    assert response.context["adminform"].form["title"].value() == "Typed title"
    assert not Picture.objects.exists()


def add_picture(client, reward):
    form = address(REWARD, "change", reward.pk)
    return client.post(form, {**form_of(client.get(form)), "picture_file": upload((30, 10))}).status_code


def delete(client, reward):
    return client.post(address(REWARD, "delete", reward.pk), {"post": "yes"}).status_code


def test_picture_of_a_deleted_reward_is_deleted(brand):
    client, reward = browser(staff(brand)), factories.reward(brand)
    add_picture(client, reward)
    assert Picture.objects.count() == 1

    assert delete(client, reward) == 302

    assert (Reward.objects.count(), Picture.objects.count()) == (0, 0)


def delete_while_a_picture_is_uploaded(brand):
    client, reward = browser(staff(brand)), factories.reward(brand)

    status = run_during_transaction(lambda: add_picture(client, reward), lambda: delete(client, reward))

    assert (status, Reward.objects.count()) == (302, 0)


@pytest.mark.django_db(transaction=True)
def test_picture_uploaded_during_the_deletion_is_deleted():
    delete_while_a_picture_is_uploaded(factories.brand())

    assert not Picture.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_the_picture_uploaded_during_the_deletion_stays():
    with without_locks():
        delete_while_a_picture_is_uploaded(factories.brand())

    assert Picture.objects.count() == 1
