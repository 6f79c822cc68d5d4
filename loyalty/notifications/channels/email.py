"""E-mail: sends one notification as one message, through Django's configured backend."""

import re
import smtplib
from email.utils import formataddr, parseaddr

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.utils.translation import gettext_noop

from core.mail import UNWRITABLE, one_line
from loyalty.notifications import sender_domains, sender_names
from loyalty.notifications.channels.base import AddressBouncedError, Failed, NotSent, OutboundMessage, check_may_send

# RFC 3463. These codes blame the message, a full mailbox or the route, not the address.
NOT_THE_ADDRESS = re.compile(r"^[45]\.(2\.2|3|4|5|6|7)\b")
INVALID_ADDRESS = gettext_noop("One of the e-mail's addresses is not valid.")


def send(outbound: OutboundMessage) -> str:
    """Returns the Message-ID, which is the same at each attempt. Raises AddressBouncedError, Failed, NotSent."""
    check_may_send(outbound)
    try:
        message = message_of(outbound)
        message.send()
    except smtplib.SMTPRecipientsRefused as error:
        code, reply = next(iter(error.recipients.values()))
        raise rejection(code, reply) from error
    except smtplib.SMTPDataError as error:
        raise (Failed if is_final(error.smtp_code) else NotSent)(
            smtp_error(error.smtp_code, error.smtp_error)
        ) from error
    except (smtplib.SMTPException, OSError) as error:
        raise NotSent(f"{type(error).__name__}: {error}"[:500]) from error
    except UNWRITABLE as error:  # it would fail in the same way at each attempt
        raise Failed(INVALID_ADDRESS) from error
    return str(message.extra_headers["Message-ID"])


def message_of(outbound: OutboundMessage) -> EmailMultiAlternatives:
    """Sends from the brand's address if its domain is verified, else from the installation's, with the brand's name.

    The mail server's SPF and DKIM must not vouch for another party's name or address.
    """
    brand, own, composed = outbound.delivery.brand, outbound.settings, outbound.composed
    is_own = sender_domains.may_send_from(brand_id=brand.pk, address=own.sender_address)
    sender, name = (own.sender_address, own.sender_name) if is_own else (settings.DEFAULT_FROM_EMAIL, "")
    if not sender_names.is_own(brand_name=brand.name, sender_name=name):
        name = ""
    domain = parseaddr(sender)[1].rpartition("@")[2]
    headers = {
        "Message-ID": f"<{outbound.delivery.delivery_id}@{domain}>",
        "Auto-Submitted": "auto-generated",
        "Content-Language": outbound.delivery.language,
    }
    if composed.opt_out:  # RFC 2369 and RFC 8058: mail programs show an unsubscribe button
        headers |= {
            "List-Unsubscribe": f"<{composed.opt_out}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        }
    message = EmailMultiAlternatives(
        subject=composed.subject,
        body=composed.text,
        from_email=formataddr((one_line(name or brand.name), parseaddr(sender)[1])),
        to=[outbound.address],
        reply_to=[own.reply_to or ("" if is_own else own.sender_address) or brand.support_email],
        headers=headers,
    )
    message.attach_alternative(composed.html, "text/html")
    return message


def rejection(code: int, reply: bytes) -> Exception:
    """The rejection of a recipient, which is permanent if the address is to blame."""
    text = reply.decode(errors="replace")
    if not is_final(code):
        return NotSent(smtp_error(code, reply))
    return (Failed if NOT_THE_ADDRESS.match(text) or code == 552 else AddressBouncedError)(smtp_error(code, reply))


def is_final(code: int) -> bool:
    return 500 <= code < 600


def smtp_error(code: int, reply: bytes | str) -> str:
    text = reply.decode(errors="replace") if isinstance(reply, bytes) else reply
    return f"SMTP {code} {one_line(text)}"[:500]
