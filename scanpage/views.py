"""The page over HTTP. A GET changes nothing; without scripts, its forms do what scripts would do."""

import re
import secrets
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from django.core.handlers.exception import response_for_exception
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone, translation
from django.utils.decorators import method_decorator
from django.utils.functional import cached_property
from django.views import View
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.gzip import gzip_page

from brands.identity import api_keys
from brands.models.tenants import Brand
from brands.tenants import contacts
from brands.tenants.hostnames import brand_of
from core.numbers import is_id
from scanpage import account, assets, guest_scan, presenters, theme
from scanpage.api_client import Answer
from scanpage.guest_scan import GuestScan
from scanpage.headers import protected
from scanpage.languages import COOKIE, LANGUAGES, language_of
from scanpage.session_cookies import PageSession

YEAR = 365 * 86_400
NONCE = re.compile(r"[A-Za-z0-9_-]{16,64}")


class PageView(View):
    """A page of the brand at the requested host, in the customer's language, with its own headers."""

    brand: Brand
    page_session: PageSession
    code: str

    @method_decorator(gzip_page)
    @method_decorator(csrf_protect)
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        language = language_of(request)
        with translation.override(language):
            brand = brand_of(request)
            if brand is None:
                return protected(self.respond_without_brand(request, **kwargs))
            self.brand, self.code = brand, kwargs.get("code", "")
            self.page_session = PageSession.of(request, api_keys.of_scan_page(brand=brand, at=timezone.now()))
            try:
                response = super().dispatch(request, *args, **kwargs)
            except Http404 as error:  # its answer needs the cookies of a renewed session, too
                response = response_for_exception(request, error)
                response.headers["Cache-Control"] = "no-store"
                self.page_session.finish(response)
                return response
        self.page_session.finish(response)
        if request.GET.get("lang") == language:
            response.set_cookie(COOKIE, language, max_age=YEAR, samesite="Lax")
        return protected(response)

    def respond_without_brand(self, request: HttpRequest, **_path: Any) -> HttpResponse:
        return render(request, "scanpage/no_brand.html", status=404)

    def page(self, context: dict[str, Any], status: int = 200, template: str = "scanpage/scan.html") -> HttpResponse:
        zone = self.brand.zone
        page_context = {
            "brand": self.brand,
            "theme_version": theme.version(self.brand),
            "assets": f"/page/assets/{assets.version()}",
            "key": self.page_session.guest.key,
            "code": self.code,
            "page_path": self.page_path,
            "nonce": secrets.token_urlsafe(18),
            "is_customer": self.page_session.is_customer or bool(self.page_session.failed_refresh),
            "languages": LANGUAGES.items(),
            "tab": self.tab,
            "legal": self.legal,
            "texts_to_accept": account.texts_to_accept(self.brand, self.page_session),
            "reward_error_codes": account.REWARD_ERROR_CODES,
        }
        with timezone.override(zone):
            return render(self.request, template, {**page_context, **presenters.read(context, zone)}, status=status)

    @cached_property
    def legal(self) -> dict[str, Any]:
        """The brand's texts in force."""
        return account.texts_of(self.brand, self.page_session)

    @property
    def tab(self) -> str:
        """The entry of the bottom bar that this page belongs to."""
        requested = self.request.GET.get("account")
        return "scan" if requested is None else "rewards" if requested == "rewards" else "points"

    @property
    def page_path(self) -> str:
        """This page's own path, for links."""
        return quote(self.request.path)

    def redirect_to_page(self, query: str = "") -> HttpResponse:
        """Redirect to a page that can be reloaded without sending anything again."""
        return HttpResponseRedirect(self.page_path + query, status=303)


class ScanPage(PageView):
    """A code's page; without a code, the page to type one or view the account."""

    def get(self, request: HttpRequest, code: str = "", **_gtin: str) -> HttpResponse:
        typed = presenters.code_in_text(request.GET.get("typed", ""))
        if typed and not code:
            return HttpResponseRedirect(f"/s/{quote(typed, safe='')}?by=hand")
        context: dict[str, Any] = {"by_hand": request.GET.get("by") == "hand" and bool(code)}
        if context["by_hand"]:
            context |= {"parts": presenters.in_groups(code), "alike": presenters.confusable_groups(code)}
        scan_id = request.GET.get("scan", "")
        if guest_scan.SCAN_ID.fullmatch(scan_id):
            context |= self.outcome_of(scan_id)
        if "forgot" in request.GET or request.GET.get("password") in {"sent", "set"}:
            context["password"] = "forgotten" if "forgot" in request.GET else request.GET["password"]
        if request.GET.get("mail") in {"sent", "wait", "trouble"}:
            context["mail"] = request.GET["mail"]
        context |= {name: True for name in ("reported", "erased", "no_card") if name in request.GET}
        if invited := presenters.code_in_text(request.GET.get("ref", ""))[:40]:
            context["referral_code"] = invited
        if self.page_session.is_customer and (scan_id or "account" in request.GET):
            context["account"] = account.of(self.page_session)
        return self.page(context)

    def outcome_of(self, scan_id: str) -> dict[str, Any]:
        """The state of a scan; the page checks again while its points are pending."""
        answer = self.page_session.api.get(f"scans/{scan_id}")
        if not answer.is_good:
            return {}
        if recall := answer.body.get("recall"):
            return {"state": "recalled", "scan": {"recall": recall}, "contact_link": contacts.link(recall["contact"])}
        status = presenters.points_of(answer.body)
        earned = answer.body["points_awarded"]
        return {"scan_id": scan_id, "points": status, "earned": earned, "check_again": status == "pending"}

    def post(self, request: HttpRequest, **_code: str) -> HttpResponse:
        acts: dict[str, Callable[[], HttpResponse]] = {
            "scan": self.scan,
            "log_in": self.log_in,
            "register": self.log_in,
            "confirm": self.confirm,
            "log_out": self.log_out,
            "forgot": self.forgot,
            "redeem": self.redeem,
            "undo": self.undo,
            "claim": self.claim,
            "send_confirmation": self.send_confirmation,
            "report": self.report,
            "refer": self.refer,
            "agree": self.agree,
        }
        act = acts.get(request.POST.get("act", ""))
        return act() if act else self.redirect_to_page()

    def scan(self) -> HttpResponse:
        if self.page_session.failed_refresh:  # a guest's scan would take the points from the possible customer
            return self.page({"state": presenters.state_of(self.page_session.failed_refresh)})
        saved = guest_scan.saved_scan(self.request)
        scan_of_page = saved if saved and saved.code == self.code else None
        if scan_of_page and self.page_session.is_customer and self.adopt(scan_of_page).is_good:
            response = self.redirect_to_page(f"?scan={scan_of_page.scan_id}")
            guest_scan.delete_cookie(response)
            return response
        context = self.scan_context(scan_of_page.nonce if scan_of_page else self.nonce)
        response, scan = self.page(context), context["scan"]
        if scan.get("scan_token") and scan["status"] == "success":
            known = GuestScan(self.code, context["nonce"], scan["scan_id"], scan["scan_token"])
            guest_scan.save_scan(response, known)
        return response

    def scan_context(self, nonce: str) -> dict[str, Any]:
        """The context that shows a form's scan. The same nonce gives the same scan."""
        answer = self.post_to_api("auth-codes/scan", {"code": self.code}, idempotency_key=nonce)
        if answer.error in {"IDEMPOTENCY_KEY_REUSED", "TOKEN_INVALID"}:
            nonce = secrets.token_urlsafe(18)
            answer = self.page_session.api.post("auth-codes/scan", {"code": self.code}, idempotency_key=nonce)
        state, scan = presenters.state_of(answer, is_customer=self.page_session.is_customer), answer.body
        context = {"state": state, "scan": scan, "nonce": nonce, "points": presenters.points_of(scan)}
        context["scan_id"] = scan.get("scan_id", "")
        if state == "recalled":
            context["contact_link"] = contacts.link(scan["recall"]["contact"])
        if context["points"] == "pending":
            context |= {"refresh_url": f"{self.page_path}?scan={scan['scan_id']}"}
        return context

    def log_in(self) -> HttpResponse:
        """Log in or register."""
        form = self.request.POST
        email, password = form.get("email", ""), form.get("password", "")
        registers = form.get("act") == "register"
        answer = self.register(email, password) if registers else self.page_session.log_in(email, password)
        if not answer.is_good:
            return self.rerender_form(answer, registers=registers)
        if waiting := answer.body.get("registration_id"):
            return self.page({**self.previous_context(), "confirming": waiting})
        return self.redirect_after_login()

    def register(self, email: str, password: str) -> Answer:
        form = self.request.POST
        if account.lacks_consent(self.brand, self.page_session, form):
            return account.no_consent()
        return self.page_session.register(
            email, password, account.registration_data(form), consented=bool(form.get("consented"))
        )

    def confirm(self) -> HttpResponse:
        """Confirm a registration with the mailed code, and log in to the new account."""
        proof = {name: self.request.POST.get(name, "")[:100] for name in ("registration_id", "code")}
        answer = self.page_session.confirm(proof)
        if not answer.is_good:
            details = {"confirming": proof["registration_id"], "wrong_code": account.error_text(answer)}
            return self.page({**self.previous_context(), **details}, status=400)
        return self.redirect_after_login()

    def send_confirmation(self) -> HttpResponse:
        """Send another confirmation link to a customer whose points wait for their confirmed address."""
        answer = self.post_to_api("auth/email/verification", {})
        if answer.is_good and answer.body.get("email_verified_at"):
            return self.redirect_to_page("?account")
        sent = "sent" if answer.is_good else "wait" if answer.error == "RATE_LIMITED" else "trouble"
        scan_id = self.request.POST.get("scan_id", "")
        return self.redirect_to_page(
            f"?mail={sent}" + (f"&scan={scan_id}" if guest_scan.SCAN_ID.fullmatch(scan_id) else "")
        )

    def redirect_after_login(self) -> HttpResponse:
        """Redirect after a login; a guest's scan is adopted, or stays saved if that fails for now."""
        saved = guest_scan.saved_scan(self.request)
        scan = guest_scan.sent_scan(self.request.POST, code=self.code, nonce=self.nonce) or saved
        if scan is None:
            return self.redirect_to_page("?account")
        is_of_this_page = not self.code or scan.code == self.code
        if self.adopt(scan).is_temporary:  # the page's own form tries again
            response = self.redirect_to_page("" if self.code and is_of_this_page else "?account")
            if scan is not saved:
                guest_scan.save_scan(response, scan)
            return response
        response = self.redirect_to_page(f"?scan={scan.scan_id}" if is_of_this_page else "?account")
        if saved and saved.scan_id == scan.scan_id:
            guest_scan.delete_cookie(response)
        return response

    def adopt(self, scan: GuestScan) -> Answer:
        return self.page_session.api.post(f"scans/{scan.scan_id}/adopt", {"scan_token": scan.scan_token})

    def rerender_form(self, answer: Answer, *, registers: bool) -> HttpResponse:
        """The form again, with the scan that it was shown with."""
        complaint = {"wrong": account.error_text(answer), "registers": registers}
        filled = {name: self.request.POST.get(name, "")[:254] for name in ("email", "first_name", "referral_code")}
        return self.page({**self.previous_context(), **complaint, **filled}, status=400)

    def previous_context(self) -> dict[str, Any]:
        """The context of the scan that a form was shown with."""
        nonce = self.request.POST.get("nonce", "")
        if not self.code or not NONCE.fullmatch(nonce) or self.page_session.failed_refresh:
            return {}
        return self.scan_context(nonce)

    def log_out(self) -> HttpResponse:
        if failed := self.page_session.log_out():
            return self.page({"state": presenters.state_of(failed)})
        response = self.redirect_to_page()
        guest_scan.delete_cookie(response)
        return response

    def forgot(self) -> HttpResponse:
        """Request a link by mail. The response does not reveal whether the account exists."""
        email = self.request.POST.get("email", "")[:300]
        answer = self.page_session.guest.post("auth/password/forgot", {"email": email})
        if answer.is_good:
            return self.redirect_to_page("?password=sent")
        details = {"password": "forgotten", "wrong_password": account.error_text(answer), "email": email}
        return self.page(details, status=400)

    def redeem(self) -> HttpResponse:
        """Spend points only after the customer has confirmed."""
        number = self.posted_id("reward")
        if not self.request.POST.get("confirmed"):
            own = self.own_account()
            return self.page({"account": own, "reward_to_confirm": account.reward_of(own, number), "tab": "rewards"})
        return self.claim_or_redeem(f"rewards/{number}/redeem", f"{self.nonce}-{number}")

    def claim(self) -> HttpResponse:
        return self.claim_or_redeem(f"milestones/{self.posted_id('reward')}/claim", "")

    def report(self) -> HttpResponse:
        """Send a fake report."""
        details = {name: self.request.POST.get(name, "")[:2000] for name in ("place", "remark", "contact")}
        answer = self.post_to_api("fake-reports", {"code": self.code, **details})
        if answer.is_good:
            return self.redirect_to_page("?reported")
        return self.page({"report": details, "not_reported": account.error_text(answer)}, status=400)

    def claim_or_redeem(self, path: str, nonce: str) -> HttpResponse:
        """Redeem or claim a reward, and show its code or the reason why not."""
        answer = self.post_to_api(f"customer/loyalty/{path}", {}, idempotency_key=nonce)
        result: dict[str, Any] = {"redeemed": answer.data} if answer.data else {"not_redeemed": answer.error or "other"}
        return self.page({**result, "account": self.own_account(), "tab": "rewards"})

    def undo(self) -> HttpResponse:
        """Undo the redemption of a reward that was taken by mistake."""
        answer = self.post_to_api(f"customer/loyalty/redemptions/{self.posted_id('redemption')}/undo", {})
        result: dict[str, Any] = {"undone": True} if answer.is_good else {"not_redeemed": answer.error or "other"}
        return self.page({**result, "account": self.own_account(), "tab": "rewards"})

    def refer(self) -> HttpResponse:
        """Enter the code of the member who referred the customer."""
        code = self.request.POST.get("referral_code", "")[:40]
        answer = self.post_to_api("customer/loyalty/referral", {"code": code})
        result = {"referred": True} if answer.is_good else {"wrong_friend": account.error_text(answer)}
        status = 200 if answer.is_good else 400
        context = {"referral_code": code, "account": self.own_account(), "tab": "points"}
        return self.page({**result, **context}, status=status)

    def agree(self) -> HttpResponse:
        """Agree to the brand's texts in force, as an existing customer."""
        text_ids = account.displayed_texts(self.request.POST)
        self.post_to_api("customer/consents", {"legal_texts": text_ids})
        return self.redirect_to_page("?account")

    def own_account(self) -> dict[str, Any] | None:
        return account.of(self.page_session) if self.page_session.is_customer else None

    def posted_id(self, name: str) -> str:
        """A row's id from the form; 0, which no row has, for anything else."""
        text = self.request.POST.get(name, "")
        return text if is_id(text) else "0"

    @property
    def nonce(self) -> str:
        nonce = self.request.POST.get("nonce", "")
        return nonce if NONCE.fullmatch(nonce) else secrets.token_urlsafe(18)

    def post_to_api(self, path: str, body: dict[str, Any], *, idempotency_key: str = "") -> Answer:
        """Post as the customer. If their token is no longer valid, the page's session ends."""
        answer = self.page_session.api.post(path, body, idempotency_key=idempotency_key)
        if answer.error == "TOKEN_INVALID":
            self.page_session.leave()
        return answer
