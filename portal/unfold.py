"""The django-unfold classes that our pages extend. It has no types: the type checker sees Django's own."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from django import forms
    from django.contrib import admin
    from django.contrib.admin.forms import AdminAuthenticationForm as AuthenticationForm
    from django.contrib.admin.views.main import ChangeList

    F = TypeVar("F", bound=Callable[..., Any])
    ModelAdmin = admin.ModelAdmin[Any]
    TabularInline = admin.TabularInline[Any, Any]
    ModelForm = forms.ModelForm[Any]
    InlineFormSet = forms.BaseInlineFormSet[Any, Any, Any]
    LookupForm = forms.Form
    LookupFilter = admin.RelatedFieldListFilter
    ChoicesFilter = admin.ChoicesFieldListFilter
    DropdownFilter = admin.SimpleListFilter
    RangeFilter = admin.DateFieldListFilter
    TypedFilter = admin.SimpleListFilter
    TypedForm = forms.Form
    PasswordWidget = forms.PasswordInput
    ColourWidget = forms.TextInput
    FileWidget = forms.FileInput
    RadioWidget = forms.RadioSelect
    SelectWidget = forms.Select
    SwitchWidget = forms.CheckboxInput
    NumberWidget = forms.NumberInput
    TextWidget = forms.TextInput
    TextareaWidget = forms.Textarea
    CheckboxesWidget = forms.CheckboxSelectMultiple

    def display(*, description: Any, ordering: str | None = None) -> Callable[[F], F]: ...
    def action(*, description: Any, url_path: str, icon: str, permissions: list[str]) -> Callable[[F], F]: ...

else:
    from django.forms import ModelForm
    from unfold.admin import ModelAdmin, TabularInline
    from unfold.contrib.filters.admin import AutocompleteSelectFilter as LookupFilter
    from unfold.contrib.filters.admin import ChoicesDropdownFilter as ChoicesFilter
    from unfold.contrib.filters.admin import DropdownFilter
    from unfold.contrib.filters.admin import RangeDateFilter as RangeFilter
    from unfold.contrib.filters.admin import TextFilter as TypedFilter
    from unfold.contrib.filters.forms import AutocompleteDropdownForm as LookupForm
    from unfold.contrib.filters.forms import SearchForm as TypedForm
    from unfold.decorators import action, display
    from unfold.forms import AuthenticationForm
    from unfold.forms import PaginationInlineFormSet as InlineFormSet
    from unfold.views import ChangeList
    from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget as CheckboxesWidget
    from unfold.widgets import UnfoldAdminColorInputWidget as ColourWidget
    from unfold.widgets import UnfoldAdminFileFieldWidget as FileWidget
    from unfold.widgets import UnfoldAdminIntegerFieldWidget as NumberWidget
    from unfold.widgets import UnfoldAdminPasswordWidget as PasswordWidget
    from unfold.widgets import UnfoldAdminRadioSelectWidget as RadioWidget
    from unfold.widgets import UnfoldAdminSelectWidget as SelectWidget
    from unfold.widgets import UnfoldAdminTextareaWidget as TextareaWidget
    from unfold.widgets import UnfoldAdminTextInputWidget as TextWidget
    from unfold.widgets import UnfoldBooleanSwitchWidget as SwitchWidget

__all__ = [
    "AuthenticationForm",
    "ChangeList",
    "CheckboxesWidget",
    "ChoicesFilter",
    "ColourWidget",
    "DropdownFilter",
    "FileWidget",
    "InlineFormSet",
    "LookupFilter",
    "LookupForm",
    "ModelAdmin",
    "ModelForm",
    "NumberWidget",
    "PasswordWidget",
    "RadioWidget",
    "RangeFilter",
    "SelectWidget",
    "SwitchWidget",
    "TabularInline",
    "TextWidget",
    "TextareaWidget",
    "TypedFilter",
    "TypedForm",
    "action",
    "display",
]
