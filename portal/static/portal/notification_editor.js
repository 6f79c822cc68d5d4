// Previews a notification's text while it is typed, and lists the placeholders of the chosen template.
// Unedited text follows the chosen template, channel and language.
import { element } from "./elements.js";
import { debounce, latestOnly, postForm } from "./requests.js";

const PAUSE = 400;
const CHOICE = ["brand", "template", "channel", "language"];
const panel = document.querySelector("[data-notification-draft]");
const form = document.getElementById("notificationtemplate_form");
const [subject, body] = ["subject", "body"].map((name) => form?.elements[name]);
if (panel && subject && body) start();

function start() {
  const names = document.querySelector("[data-notification-names]");
  const [preview, problem] = ["shown", "problem"].map((part) => panel.querySelector(`[data-part=${part}]`));
  let ours = null; // the platform's text for the previous choice

  const isUntouched = () =>
    (!subject.value && !body.value) || (ours && subject.value === ours.subject && body.value === ours.body);

  const listNames = (known) => {
    names.replaceChildren(...known.map(([name, explanation]) => element(
      "div", {},
      element("dt", { className: "inline" }, element("code", { textContent: name })),
      " ",
      element("dd", { className: "inline", textContent: explanation }),
    )));
  };

  const show = (draft) => {
    problem.textContent = draft.problem || "";
    problem.hidden = !draft.problem;
    preview.hidden = Boolean(draft.problem);
    if (draft.problem) return;
    const [title, frame, text] = ["subject", "html", "text"].map((part) => preview.querySelector(`[data-part=${part}]`));
    title.textContent = draft.subject;
    title.closest("p").hidden = !draft.subject;
    // A new frame: an existing one would keep its old content.
    const fresh = frame.cloneNode();
    fresh.hidden = !draft.html;
    fresh.srcdoc = draft.html;
    frame.replaceWith(fresh);
    text.hidden = Boolean(draft.html);
    text.textContent = draft.text;
    text.dir = title.dir = draft.direction;
  };

  const ask = latestOnly(async (signal, follows) => {
    const data = new FormData(form);
    for (const [name, value] of Object.entries(panel.dataset)) if (!data.get(name)) data.set(name, value);
    if (CHOICE.some((name) => !data.get(name))) return; // a new text for which not everything is chosen yet
    const draft = await postForm(panel.dataset.notificationDraft, data, signal);
    if (!draft) return;
    listNames(draft.names);
    const replaces = follows && isUntouched();
    ours = draft.ours;
    if (replaces) {
      [subject.value, body.value] = [ours.subject, ours.body];
      ask(false);
    } else {
      show(draft);
    }
  }, () => { problem.hidden = true; });
  const soon = debounce(ask, PAUSE);

  form.addEventListener("input", () => soon(false));
  for (const name of CHOICE) {
    form.elements[name]?.addEventListener("change", () => {
      soon.stop();
      ask(true);
    });
  }
  ask(true);
}
