"""Helpers for the forms that change codes."""

from tests.support.portal import address, text


def messages(client, answer):
    return text(client.get(answer["Location"]))


def errors(answer):
    return dict(answer.context["form"].errors)


def send_codes(client, product, codes, *buttons, **fields):
    form_data = {"product": product.pk, "codes": codes, **fields, **dict.fromkeys(buttons, "1")}
    return client.post(address("authcodes.authcode", "assign"), form_data)
