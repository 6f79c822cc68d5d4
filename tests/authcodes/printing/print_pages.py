"""Valid data for the form that prints a batch, and helpers that send it."""

import base64

from tests.support.portal import address

VALID = {
    "output": "labels",
    "payload": "address",
    "level": "M",
    "size": "",
    "size_amount": "",
    "size_unit": "mm",
    "sheet": "letter-30",
    "start": "1",
}
SHEET = {
    "sheet": "custom",
    "page_width": "210",
    "page_height": "297",
    "left": "10",
    "top": "10",
    "label_width": "60",
    "label_height": "40",
    "pitch_x": "62",
    "pitch_y": "42",
    "columns": "3",
    "rows": "6",
}


def print_url(batch, page="batch"):
    return address("authcodes.printrun", page, batch.pk)


def post_form(client, batch, *buttons, **fields):
    data = {**VALID, "first": batch.first_code, "last": batch.last_code, **fields}
    return client.post(print_url(batch), {**data, **dict.fromkeys(buttons, "1")})


def form_errors(answer):
    return dict(answer.context["form"].errors)


def preview_image(answer):
    return base64.b64decode(answer.context["picture"].partition("base64,")[2])


def get_preview(client, batch, **fields):
    data = {**VALID, "first": batch.first_code, "last": batch.last_code, **fields}
    return client.get(print_url(batch, "preview"), data)
