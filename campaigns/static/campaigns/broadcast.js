// Next to the form of a broadcast: how many members get it by which channel, and its text, while it is written.
import { element } from "../portal/elements.js";
import { debounce, latestOnly, postForm } from "../portal/requests.js";

const PAUSE = 400;
const panel = document.querySelector("[data-broadcast]");
const form = document.getElementById("broadcast_form");
if (panel && form) start();

function start() {
  const part = (name) => panel.querySelector(`[data-part=${name}]`);
  let language = "";

  const showDraft = (draft) => {
    part("draft").hidden = !draft;
    if (!draft) return;
    part("language").textContent = draft.language;
    part("problem").textContent = draft.problem || "";
    part("problem").hidden = !draft.problem;
    part("mail").hidden = !draft.mail;
    part("short").hidden = !draft.short;
    if (draft.mail) {
      part("subject").textContent = draft.mail.subject;
      part("subject").dir = draft.direction;
      // A new frame: an existing one would keep its old content.
      const fresh = part("html").cloneNode();
      fresh.srcdoc = draft.mail.html;
      part("html").replaceWith(fresh);
    }
    if (draft.short) {
      part("short_text").textContent = draft.short.text;
      part("short_text").dir = draft.direction;
    }
  };

  const show = (answer) => {
    part("total").textContent = answer.audience.total;
    part("lines").replaceChildren(...answer.audience.lines.map((text) => element("li", { textContent: text })));
    showDraft(answer.draft);
  };

  const ask = latestOnly(async (signal) => {
    const data = new FormData(form);
    if (!data.get("brand")) data.set("brand", panel.dataset.brand || "");
    data.set("shown_language", language);
    if (!data.get("brand")) return;
    const answer = await postForm(panel.dataset.broadcast, data, signal);
    if (answer) show(answer);
  }, () => { part("total").textContent = ""; });
  const soon = debounce(ask, PAUSE);

  const changed = (event) => {
    const written = event.target.name?.match(/^(?:subject|body|short_text)_(\w+)$/);
    if (written) language = written[1];
    soon();
  };
  for (const kind of ["input", "change", "focusin"]) form.addEventListener(kind, changed);
  ask();
}
