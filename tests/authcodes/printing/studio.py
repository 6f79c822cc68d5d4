"""Data for the form of the print studio, with the parts of a label placed by hand."""

from tests.authcodes.printing.labels.test_label_parts import PARTS
from tests.support.portal import address

VISIBLE = ("qr", "code", "title", "sku", "note")


def print_url(batch, page="batch"):
    return address("authcodes.printrun", page, batch.pk)


def part_fields(parts):
    fields = {}
    for name, box in parts.items():
        for length in ("left", "top", "width", *(() if name == "qr" else ("height",))):
            fields[f"{name}_{length}"] = str(getattr(box, length))
        if box.centred:
            fields[f"{name}_centred"] = "on"
    return fields


def form_data(batch, *, parts=None, **fields):
    """The form's data for labels with parts placed by hand, on a sheet whose labels are 70 x 29.7 mm."""
    parts = parts or {name: PARTS[name] for name in VISIBLE}
    defaults = {"output": "labels", "payload": "address", "level": "M", "sheet": "a4-30", "start": "1", "layout": "own"}
    texts = {"title": "on", "sku": "on", "note": "Scan me"}
    codes = {"first": batch.first_code, "last": batch.last_code}
    data = {**defaults, **texts, **codes, **part_fields(parts), **fields}
    return {name: value for name, value in data.items() if value is not None}


def post_form(client, batch, button, **fields):
    return client.post(print_url(batch), {**form_data(batch, **fields), button: "1"})


def errors_of(answer):
    return dict(answer.context["form"].errors)
