// The form of a new row: the keyboard goes to its first field. What stands above the form stays in view, as Django's own
// script would not have it.

const fields = document.querySelector("[data-new-row]")?.closest("form").elements ?? [];
const first = [...fields].find((it) => it.matches("input, select, textarea, button") && !it.disabled && it.offsetParent);
first?.focus({ preventScroll: true });
