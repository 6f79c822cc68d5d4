"""The words by which a brand finds its customers."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class CustomerWord(models.Model):
    """A word of a customer's address or name, in lower case and without diacritics, for one of their brands.

    Triggers on users and accounts write it: see loyalty's migration `0002_triggers_and_storage`.
    """

    customer_through = ("user",)

    brand = models.ForeignKey("brands.Brand", models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey("brands.User", models.CASCADE, related_name="search_words")
    word = models.CharField(_("word"), max_length=64, db_collation="C")

    class Meta:
        verbose_name = _("word of a customer")
        verbose_name_plural = _("words of customers")
        constraints = [
            # Looked up by a brand and a range of words: LIKE would not use an index under row-level security.
            models.UniqueConstraint(fields=["brand", "word", "user"], name="customer_word_once"),
        ]

    def __str__(self) -> str:
        return self.word
