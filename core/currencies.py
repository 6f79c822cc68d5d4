"""Currencies: the codes of ISO 4217 that money is paid in."""

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

ALL = """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY
    COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR
    ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK
    MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF
    SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU
    UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
"""
CODES = frozenset(ALL.split())


def validate(code: str) -> None:
    if code not in CODES:
        raise ValidationError(
            _("%(code)s is not a currency code. Enter three letters, such as EUR."), params={"code": code}
        )


# Exceptions among ISO 4217's minor units, which are usually hundredths.
WITHOUT_DECIMALS = frozenset(
    ["BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF"]
)
WITH_THREE_DECIMALS = frozenset(["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"])


def decimals_of(code: str) -> int:
    """The number of decimals of an amount in this currency."""
    return 0 if code in WITHOUT_DECIMALS else 3 if code in WITH_THREE_DECIMALS else 2
