"""The form that prints a batch, filled in."""

import base64

from tests.support.portal import address

GOOD = {
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


def where(batch, what="batch"):
    return address("authcodes.printrun", what, batch.pk)


def send(client, batch, *buttons, **fields):
    sent = {**GOOD, "first": batch.first_code, "last": batch.last_code, **fields}
    return client.post(where(batch), {**sent, **dict.fromkeys(buttons, "1")})


def errors(answer):
    return dict(answer.context["form"].errors)


def picture(answer):
    return base64.b64decode(answer.context["picture"].partition("base64,")[2])


def live(client, batch, **fields):
    sent = {**GOOD, "first": batch.first_code, "last": batch.last_code, **fields}
    return client.get(where(batch, "preview"), sent)
