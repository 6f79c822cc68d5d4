"""Lists that can be searched by customer."""

from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from brands.identity import customer_search
from brands.models.tenants import Brand
from portal.lists.queries import report_search_error
from portal.unfold import ModelAdmin


class CustomerSearchMixin(ModelAdmin):
    """A list whose search finds rows by their customer, if `customer_path` is set."""

    customer_path = ""  # from a row to its customer

    def brands_seen(self, request: HttpRequest) -> list[Brand]:
        raise NotImplementedError

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Look up customers first, because an OR over two tables would be slow. Matches by a row's own name come before
        matches by customer.
        """
        typed = search_term.strip()
        if not (self.customer_path and typed):
            return super().get_search_results(request, queryset, search_term)
        names = [name for name in self.get_search_fields(request) if not name.startswith(f"{self.customer_path}__")]
        if names and "@" not in typed:
            result, many = super().get_search_results(request, queryset, typed)
            if result.exists():
                return result, many
        return self.filter_by_customers(request, queryset, typed), False

    def filter_by_customers(self, request: HttpRequest, rows: QuerySet[Any], typed: str) -> QuerySet[Any]:
        """The rows of the customers that match the typed text."""
        with report_search_error(request, rows) as search:
            search.rows = rows.filter(self.customer_condition(self.customers(request, typed)))
        return search.rows

    def customer_condition(self, customers: Any) -> Q:
        """The condition for rows of one of the customers, given as ids or as a subquery of them."""
        return Q((f"{self.customer_path}__in", customers))

    def customers(self, request: HttpRequest, typed: str) -> list[int]:
        """The customers' ids. Raises Invalid."""
        return customer_search.find(typed, [brand.pk for brand in self.brands_seen(request)])
