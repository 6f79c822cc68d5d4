// A new recall. Step 1 shows the fields that the chosen scope uses; step 2 previews the message while it is typed. The
// typed number confirms the last preview: the page sends the preview's fingerprint along.
import { debounce, latestOnly } from "../portal/requests.js";

const PAUSE = 400;

const scope = document.querySelector("[data-recall-scope]");
if (scope) {
  const show = () => {
    const chosen = new FormData(scope).get("kind");
    for (const part of scope.querySelectorAll("[data-of]")) {
      part.hidden = part.dataset.of !== chosen;
      for (const field of part.querySelectorAll("input, select")) field.disabled = part.hidden;
    }
  };
  scope.addEventListener("change", show);
  show();
}

const form = document.querySelector("[data-recall-message]");
if (form) {
  const place = form.querySelector("[data-recall-preview]");
  const previewed = form.querySelector("[name=previewed]");

  const replace = (html) => {
    const open = new Set([...place.querySelectorAll("details[open]")].map((part) => part.dataset.drawing));
    const template = document.createElement("template");
    template.innerHTML = html;
    for (const part of template.content.querySelectorAll("[data-drawing]")) part.open = open.has(part.dataset.drawing);
    place.replaceChildren(template.content);
    previewed.value = place.querySelector("[data-fingerprint]").dataset.fingerprint;
  };

  const ended = () => place.removeAttribute("aria-busy");
  // Without an answer the page's own button shows the preview.
  const refresh = latestOnly(async (signal) => {
    place.setAttribute("aria-busy", "true");
    const data = new FormData(form);
    const answer = await fetch(form.dataset.recallMessage, { method: "POST", body: data, redirect: "error", signal });
    if (answer.ok) replace(await answer.text());
    ended();
  }, ended);
  const refreshSoon = debounce(refresh, PAUSE);

  form.addEventListener("input", (event) => {
    if (!/^(recall_id|contact|message(_[a-z]+)?)$/.test(event.target.name)) return;
    previewed.value = ""; // until the current text has been previewed
    refreshSoon();
  });
}
