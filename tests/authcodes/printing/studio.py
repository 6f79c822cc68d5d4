"""The form of the print studio, with the parts of a label where somebody put them."""

from tests.authcodes.printing.labels.test_label_parts import PARTS
from tests.support.portal import address

SHOWN = ("qr", "code", "title", "sku", "note")


def where(batch, what="batch"):
    return address("authcodes.printrun", what, batch.pk)


def lengths(parts):
    sent = {}
    for name, box in parts.items():
        for length in ("left", "top", "width", *(() if name == "qr" else ("height",))):
            sent[f"{name}_{length}"] = str(getattr(box, length))
        if box.centred:
            sent[f"{name}_centred"] = "on"
    return sent


def form_data(batch, *, parts=None, **fields):
    """What the form sends for labels placed by hand, on a sheet whose labels are 70 x 29.7 mm."""
    parts = parts or {name: PARTS[name] for name in SHOWN}
    usual = {"output": "labels", "payload": "address", "level": "M", "sheet": "a4-30", "start": "1", "layout": "own"}
    texts = {"title": "on", "sku": "on", "note": "Scan me"}
    codes = {"first": batch.first_code, "last": batch.last_code}
    sent = {**usual, **texts, **codes, **lengths(parts), **fields}
    return {name: value for name, value in sent.items() if value is not None}


def send(client, batch, button, **fields):
    return client.post(where(batch), {**form_data(batch, **fields), button: "1"})


def errors_of(answer):
    return dict(answer.context["form"].errors)
