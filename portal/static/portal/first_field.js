// In the form of a new row, focuses the first field. Unlike Django's own script this does not scroll, so that the
// content above the form stays in view.

const fields = document.querySelector("[data-new-row]")?.closest("form").elements ?? [];
const first = [...fields].find((it) => it.matches("input, select, textarea, button") && !it.disabled && it.offsetParent);
first?.focus({ preventScroll: true });
