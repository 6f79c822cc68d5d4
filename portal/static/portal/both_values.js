// Replaces a typed value in the form with the value that a colleague has saved in the meantime.
"use strict";
for (const button of document.querySelectorAll("[data-both-values] [data-use]")) {
  button.addEventListener("click", () => {
    const field = button.closest("form").elements.namedItem(button.dataset.field);
    if (!field) return;
    const value = button.dataset.use;
    if (field.type === "checkbox") field.checked = value !== "";
    else if (field.tagName === "SELECT" && ![...field.options].some((option) => option.value === value)) {
      field.add(new Option(button.closest("tr").cells[2].textContent.trim(), value, true, true));
    } else field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.dispatchEvent(new Event("change", { bubbles: true }));
    const text = button.closest("[data-both-values]").querySelector("[data-used]");
    text.textContent = text.dataset.text.replace("{field}", button.closest("tr").cells[0].textContent.trim());
    button.disabled = true;
  });
}
