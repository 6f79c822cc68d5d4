// The strip of a batch's page: dragging over it selects codes and fills the fields; codes typed there are drawn.
// In a field the arrow keys step by one code, Page Up and Page Down by a hundredth of the visible codes.
import { LOCALE } from "../portal/locale.js";

const number = (code, strip) => {
  const { prefix, digits } = strip.dataset;
  const suffix = code.startsWith(prefix) ? code.slice(prefix.length) : code;
  return /^\d{1,18}$/.test(suffix) && suffix.length <= Number(digits) ? BigInt(suffix) : null;
};

const prepared = (strip) => {
  const form = strip.closest("section").querySelector("[data-range]");
  const { first, last } = form.elements;
  const picture = strip.querySelector("[data-drag]");
  const mark = strip.querySelector("[data-chosen]");
  const count = form.querySelector("[data-count]");
  const low = BigInt(strip.dataset.low);
  const size = BigInt(strip.dataset.size);
  const width = picture.viewBox.baseVal.width;
  const STEPS = 1_000_000n; // the resolution of a mouse

  const code = (at) => strip.dataset.prefix + String(at).padStart(Number(strip.dataset.digits), "0");
  const bounded = (at) => (at < low ? low : at > low + size - 1n ? low + size - 1n : at);

  const draw = () => {
    const [from, to] = [first, last].map((field) => number(field.value.trim(), strip));
    const fits = from !== null && to !== null && from <= to;
    mark.toggleAttribute("hidden", !fits || (from === low && to === low + size - 1n));
    count.textContent = fits ? strip.dataset.text.replace("[number]", (to - from + 1n).toLocaleString(LOCALE)) : "";
    if (!fits) return;
    const share = (at) => Number(((at - low) * STEPS) / size) / Number(STEPS);
    mark.setAttribute("x", share(bounded(from)) * width);
    mark.setAttribute("width", Math.max(2, (share(bounded(to) + 1n) - share(bounded(from))) * width));
  };

  const pointedAt = (event) => {
    const box = picture.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    return bounded(low + (size * BigInt(Math.floor(share * Number(STEPS)))) / STEPS);
  };
  let begin = null;
  const choose = (event) => {
    const here = pointedAt(event);
    first.value = code(begin < here ? begin : here);
    last.value = code(begin < here ? here : begin);
    draw();
  };
  picture.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    event.preventDefault();
    picture.setPointerCapture(event.pointerId);
    begin = pointedAt(event);
    choose(event);
  });
  picture.addEventListener("pointermove", (event) => begin !== null && choose(event));
  for (const kind of ["pointerup", "pointercancel"]) picture.addEventListener(kind, () => { begin = null; });

  const page = size / 100n || 1n;
  const steps = { ArrowUp: 1n, ArrowDown: -1n, PageUp: page, PageDown: -page };
  for (const field of [first, last]) {
    field.addEventListener("input", draw);
    field.addEventListener("keydown", (event) => {
      const at = number(field.value.trim(), strip);
      if (!(event.key in steps) || at === null) return;
      event.preventDefault();
      field.value = code(bounded(at + steps[event.key]));
      draw();
    });
  }
  // Enter zooms in; a button does what it says.
  draw();
};

const prepareStrips = () => {
  for (const strip of document.querySelectorAll("[data-strip]:not([data-ready])")) {
    strip.dataset.ready = "";
    prepared(strip);
  }
};
prepareStrips();
// The codes may arrive while the page is open: portal/live.js then inserts the strip.
new MutationObserver(prepareStrips).observe(document.getElementById("content") || document.body, { childList: true, subtree: true });
