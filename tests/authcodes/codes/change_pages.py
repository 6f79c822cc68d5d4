"""The form that changes many codes, filled in."""

from tests.support.portal import address, text


def messages(client, answer):
    return text(client.get(answer["Location"]))


def errors(answer):
    return dict(answer.context["form"].errors)


def type_in(client, product, codes, *buttons, **fields):
    sent = {"product": product.pk, "codes": codes, **fields, **dict.fromkeys(buttons, "1")}
    return client.post(address("authcodes.authcode", "assign"), sent)
