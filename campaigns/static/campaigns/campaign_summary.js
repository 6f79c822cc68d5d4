// The last step of the wizard of campaigns: the answers of the previous steps, and what its button will do.
import { LOCALE } from "../portal/locale.js";

const labelOf = (control) => control.labels[0]?.textContent.trim() ?? "";
const field = (form, name) => form.elements.namedItem(name);
const valueOf = (form, name) => field(form, name)?.value?.trim() ?? "";
const ticked = (form, name) => [...form.querySelectorAll(`[name=${name}]:checked`)].map(labelOf);
const chosen = (form, name) => field(form, name).selectedOptions[0]?.text ?? "";
const joined = (texts) => new Intl.ListFormat(LOCALE, { type: "unit" }).format(texts.filter(Boolean));

const day = (form, name) => {
  const date = new Date(valueOf(form, name));
  return Number.isNaN(date.getTime()) ? "" : new Intl.DateTimeFormat(LOCALE, { dateStyle: "full", timeZone: "UTC" }).format(date);
};

const number = (text) => (Number(text) > 0 ? Number(text).toLocaleString(LOCALE) : text);

// Each answer as text; empty if there is none.
const ANSWERS = {
  name: (form) => valueOf(form, "name"),
  audience: (form) => {
    const names = { level: "levels", segment: "segments" }[valueOf(form, "audience")];
    return names && ticked(form, names).length ? joined(ticked(form, names)) : joined(ticked(form, "audience"));
  },
  counted: (form) => `${chosen(form, "type")} (${chosen(form, "step_by")})`,
  only: (form) => joined([...ticked(form, "products"), ...ticked(form, "batches"), valueOf(form, "places")]),
  goal: (form, { again }) => {
    const goal = number(valueOf(form, "target_value"));
    return field(form, "is_repeatable").checked ? again.replace("[goal]", goal) : goal;
  },
  starts_on: (form) => day(form, "starts_on"),
  ends_on: (form) => day(form, "ends_on"),
  budget: (form, { points }) => {
    const budget = valueOf(form, "budget");
    return budget && points.replace("[points]", number(budget));
  },
  replay: (form) => form.querySelector("[data-replayed]")?.textContent.trim() ?? "",
};

export const showSummary = (form) => {
  form.querySelector("[data-summary]").hidden = false;
  for (const place of form.querySelectorAll("[data-answer]")) {
    const answer = ANSWERS[place.dataset.answer];
    if (!answer) continue;
    place.textContent = answer(form, place.dataset) || place.dataset.none || "";
    place.parentElement.hidden = !place.textContent;
  }
  const milestones = [...form.querySelectorAll("[data-preview=milestones] li")].map((item) => item.cloneNode(true));
  form.querySelector("[data-answer=milestones]").replaceChildren(...milestones);
  const label = form.querySelector("[data-launch]");
  const isLater = valueOf(form, "starts_on") > form.dataset.today;
  label.textContent = isLater ? label.dataset.schedule : label.dataset.launch;
};
