// The steps of a wizard: a form of sections with data-step. One section shows at a time; a rail leads to each of them.
// Without this file all sections show one below the other.
//   data-next, data-back, data-steps  the labels of the buttons and the rail
//   data-begin                        the id of the step to begin with
import { button, element } from "./elements.js";

const isWrong = (step) => step.querySelector(".errors") !== null;

export const inSteps = (form) => {
  const steps = [...form.querySelectorAll("[data-step]")];
  const rail = element("nav", { className: "wizard-rail", ariaLabel: form.dataset.steps });
  let current = 0;
  const forward = button(form.dataset.next, () => go(current + 1, true), { className: "wizard-forward" });
  const back = button(form.dataset.back, () => go(current - 1, true));

  const go = (number, hasMoved) => {
    current = Math.min(Math.max(number, 0), steps.length - 1);
    steps.forEach((step, at) => { step.hidden = at !== current; });
    [...rail.children].forEach((entry) => entry.removeAttribute("aria-current"));
    rail.children[current].setAttribute("aria-current", "step");
    back.hidden = current === 0;
    forward.hidden = current === steps.length - 1;
    if (hasMoved) {
      steps[current].querySelector("h2").focus({ preventScroll: true });
      form.scrollIntoView({ block: "start" });
    }
  };

  const entryOf = (step, at) => {
    const className = isWrong(step) ? "wizard-wrong" : "";
    return button(step.querySelector("h2").textContent, () => go(at, true), { className });
  };
  rail.append(...steps.map(entryOf));
  form.querySelector(".wizard-columns").before(rail);
  form.querySelector("[data-navigation]").append(back, forward);
  const preferred = [window.location.hash.slice(1), form.dataset.begin].map((id) => steps.findIndex((step) => step.id === id));
  const first = [steps.findIndex(isWrong), ...preferred, 0].find((at) => at >= 0);
  go(first, false);
  // A wizard that begins at a later step has the earlier ones filled in: the focus goes to the next answer.
  if (first > 0 && first === preferred[1]) steps[first].querySelector("input:not([type=hidden]), select")?.focus();

  // Enter in a field goes to the next step; only a button sends the form, and only once.
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target.matches("button, textarea, a, summary, [role=combobox], .select2-search__field")) return;
    event.preventDefault();
    go(current + 1, true);
  });
  let isSent = false;
  form.addEventListener("submit", (event) => {
    if (isSent) event.preventDefault();
    isSent = true;
  });
  window.addEventListener("pageshow", () => { isSent = false; });
};
