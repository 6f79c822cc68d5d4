"""The django-unfold classes that our pages extend. It has no types: the type checker sees Django's own."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from django import forms
    from django.contrib import admin
    from django.contrib.admin.forms import AdminAuthenticationForm
    from django.contrib.admin.views import main

    F = TypeVar("F", bound=Callable[..., Any])
    AuthenticationForm = AdminAuthenticationForm
    ChangeList = main.ChangeList
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
    from django import forms
    from unfold import admin, decorators, views, widgets
    from unfold import forms as unfold_forms
    from unfold.contrib.filters import admin as filters
    from unfold.contrib.filters import forms as filter_forms

    AuthenticationForm = unfold_forms.AuthenticationForm
    ChangeList = views.ChangeList
    ModelAdmin = admin.ModelAdmin
    TabularInline = admin.TabularInline
    ModelForm = forms.ModelForm
    InlineFormSet = unfold_forms.PaginationInlineFormSet
    LookupForm = filter_forms.AutocompleteDropdownForm
    LookupFilter = filters.AutocompleteSelectFilter
    ChoicesFilter = filters.ChoicesDropdownFilter
    DropdownFilter = filters.DropdownFilter
    RangeFilter = filters.RangeDateFilter
    TypedFilter = filters.TextFilter
    TypedForm = filter_forms.SearchForm
    PasswordWidget = widgets.UnfoldAdminPasswordWidget
    ColourWidget = widgets.UnfoldAdminColorInputWidget
    FileWidget = widgets.UnfoldAdminFileFieldWidget
    RadioWidget = widgets.UnfoldAdminRadioSelectWidget
    SelectWidget = widgets.UnfoldAdminSelectWidget
    SwitchWidget = widgets.UnfoldBooleanSwitchWidget
    NumberWidget = widgets.UnfoldAdminIntegerFieldWidget
    TextWidget = widgets.UnfoldAdminTextInputWidget
    TextareaWidget = widgets.UnfoldAdminTextareaWidget
    CheckboxesWidget = widgets.UnfoldAdminCheckboxSelectMultipleWidget
    display = decorators.display
    action = decorators.action
