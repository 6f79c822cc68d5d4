// The print studio: moves parts of the label by dragging or with arrow keys, chooses the first free label by a click, and
// after each change loads the affected fragments of the page. Without this file the same values are plain fields.
import { button } from "../portal/elements.js";
import { addressWith, debounce, getHtml, latestOnly } from "../portal/requests.js";
import { sheetOf } from "./print_sheet.js";

const PAUSE = 300;
const STEP = 0.5; // millimetres per press of an arrow key
const LENGTHS = ["left", "top", "width", "height"];
const BY_HAND = "own";
const NOT_PREVIEWED = ["page_token", "again", "previewed", "draft"]; // fields that do not change the preview

const form = document.getElementById("print_form");
const layouts = JSON.parse(document.getElementById("studio-layouts").textContent);
const limits = JSON.parse(document.getElementById("studio-limits").textContent);
const slack = limits.slack + 0.001; // lengths were rounded on the server, and are rounded again here
const texts = form.dataset;
const field = (name) => form.elements.namedItem(name);
const formatted = (text, values = {}) =>
  text.replace(/%\((\w+)\)s/g, (_all, name) => values[name] ?? "");
const rows = [...form.querySelectorAll("[data-row]")];
const nameOf = (part) => form.querySelector(`[data-row="${part}"] legend`).textContent;
const picture = () => form.querySelector(".studio-label");
const boxOf = (part) => form.querySelector(`[data-part="${part}"]`);
const rounded = (length) => Math.round(length * 100) / 100;
let chosen = "";

// --- Lengths of a part, in its fields and in the picture

const lengthsOf = (part) => Object.fromEntries(
  LENGTHS.map((length) => [length, Number(field(`${part}_${part === "qr" && length === "height" ? "width" : length}`)?.value)]),
);

const place = (part) => {
  const box = boxOf(part);
  if (!box) return;
  const { left, top, width, height } = lengthsOf(part);
  const values = { x: left, y: top, width: Math.max(0, width), height: Math.max(0, height) };
  for (const [name, value] of Object.entries(values)) if (Number.isFinite(value)) box.setAttribute(name, value);
  if (part === chosen) placeHandle();
};

const placeHandle = () => {
  const handle = form.querySelector("[data-handle]");
  const box = boxOf(chosen);
  if (!handle) return;
  handle.toggleAttribute("hidden", !box);
  if (!box) return;
  const { left, top, width, height } = lengthsOf(chosen);
  handle.setAttribute("x", left + width - 1.2);
  handle.setAttribute("y", top + height - 1.2);
};

const choose = (part) => {
  chosen = part;
  for (const button of form.querySelectorAll(".studio-move")) {
    button.setAttribute("aria-pressed", String(button.dataset.move === part));
  }
  for (const box of form.querySelectorAll("[data-part]")) box.classList.toggle("is-chosen", box.dataset.part === part);
  placeHandle();
};

// Once a part is moved or shown, it and all others are placed by hand, at their current positions.
const switchToByHand = () => {
  if (field("layout").value === BY_HAND) return;
  field("layout").value = BY_HAND;
  form.dataset.layout = BY_HAND;
};

const shift = (part, changes) => {
  const now = lengthsOf(part);
  for (const [length, change] of Object.entries(changes)) {
    const input = field(`${part}_${length}`);
    if (input) input.value = rounded(Math.max(length === "width" || length === "height" ? 1 : 0, now[length] + change));
  }
  switchToByHand();
  place(part);
  check();
  schedulePreview();
};

// --- Errors of a part, shown at once; the server checks them again

const showError = (name, text) => {
  const place_ = form.querySelector(`[data-errors-of="${name}"]`);
  if (place_ && place_.textContent.trim() !== text) place_.textContent = text;
};

const meets = (one, other) =>
  one.left < other.left + other.width - slack && other.left < one.left + one.width - slack &&
  one.top < other.top + other.height - slack && other.top < one.top + one.height - slack;

const problem = (part, box, before, paper) => {
  if (Object.values(box).some((length) => !Number.isFinite(length))) return "";
  const smallest = Number(paper.dataset.smallest);
  if (part === "qr" && box.width < smallest - slack) return formatted(texts.textSmall, { needed: smallest });
  const [wide, high] = limits.least[part];
  if (part !== "qr" && box.width < wide) return formatted(texts.textWide, { least: wide });
  if (part !== "qr" && box.height < high) return formatted(texts.textHigh, { least: high });
  const over = Math.max(
    -box.left, -box.top,
    box.left + box.width - Number(paper.dataset.width), box.top + box.height - Number(paper.dataset.height),
  );
  if (over > slack) return formatted(texts.textBeyond, { much: (Math.ceil(over * 10) / 10).toFixed(1) });
  const covered = before.find(([, other]) => meets(box, other));
  if (!covered) return "";
  return covered[0] === "qr" ? texts.textCovers : formatted(texts.textOverlaps, { part: nameOf(covered[0]) });
};

const check = () => {
  const paper = picture();
  if (!paper || field("layout").value !== BY_HAND) return;
  const before = [];
  for (const { dataset: { row: part } } of rows) {
    const box = boxOf(part);
    if (!box) continue;
    const lengths = lengthsOf(part);
    const text = problem(part, lengths, before, paper);
    showError(part, text);
    box.classList.toggle("is-wrong", text !== "");
    before.push([part, lengths]);
  }
};

// The server's message is already shown at the part.
const markWrong = () => {
  for (const box of form.querySelectorAll("[data-part]")) {
    const message = form.querySelector(`[data-errors-of="${box.dataset.part}"]`);
    box.classList.toggle("is-wrong", Boolean(message?.textContent.trim()));
  }
};

// --- Dragging

let drag = null;

const scale = () => {
  const paper = picture();
  return Number(paper.dataset.width) / paper.getBoundingClientRect().width;
};

form.addEventListener("pointerdown", (event) => {
  const part = event.target.dataset?.part;
  const isHandle = event.target.hasAttribute?.("data-handle");
  if (!part && !isHandle) return;
  event.preventDefault();
  schedulePreview.stop();
  loadPreview.stop(); // an answer would replace the part that is being dragged
  if (part) choose(part);
  form.querySelector(`.studio-move[data-move="${chosen}"]`)?.focus({ preventScroll: true });
  drag = { part: chosen, isHandle, x: event.clientX, y: event.clientY, begin: lengthsOf(chosen), scale: scale() };
  event.target.setPointerCapture(event.pointerId);
});

const snapped = (length) => Math.round(length * 10) / 10;

form.addEventListener("pointermove", (event) => {
  if (!drag) return;
  const x = (event.clientX - drag.x) * drag.scale;
  const y = (event.clientY - drag.y) * drag.scale;
  if (Math.abs(x) < 0.2 && Math.abs(y) < 0.2 && !drag.moved) return;
  drag.moved = true;
  const { part, begin } = drag;
  const set = (length, value) => { if (field(`${part}_${length}`)) field(`${part}_${length}`).value = value; };
  if (drag.isHandle) {
    set("width", Math.max(1, snapped(begin.width + (part === "qr" ? Math.max(x, y) : x))));
    set("height", Math.max(1, snapped(begin.height + y)));
  } else {
    set("left", Math.max(0, snapped(begin.left + x)));
    set("top", Math.max(0, snapped(begin.top + y)));
  }
  switchToByHand();
  place(part);
  check();
});

for (const kind of ["pointerup", "pointercancel"]) {
  form.addEventListener(kind, () => {
    if (drag) schedulePreview();
    drag = null;
  });
}

// --- Keys

const ARROWS = { ArrowLeft: ["left", "width", -1], ArrowRight: ["left", "width", 1], ArrowUp: ["top", "height", -1], ArrowDown: ["top", "height", 1] };

const moveByKey = (event) => {
  const arrow = ARROWS[event.key];
  if (!arrow) return;
  event.preventDefault();
  const [where, size, way] = arrow;
  const part = event.currentTarget.dataset.move;
  choose(part);
  const length = event.shiftKey ? (part === "qr" ? "width" : size) : where;
  shift(part, { [length]: way * STEP });
};

for (const part of form.querySelectorAll("span[data-move]")) {
  const { textContent: name, dataset: { move } } = part;
  const ariaLabel = formatted(texts.textMove, { part: name });
  const handle = button(name, () => choose(move), { className: "studio-move", onkeydown: moveByKey, ariaLabel, ariaPressed: "false" });
  handle.dataset.move = move;
  handle.setAttribute("aria-describedby", "studio-keys");
  part.replaceWith(handle);
}

// Enter in a field updates the preview, and prints nothing.
form.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.target.tagName !== "INPUT") return;
  event.preventDefault();
  loadPreview();
});

// --- Effects of a change

const show = (html) => {
  const answer = document.createElement("template");
  answer.innerHTML = html;
  const focused = document.activeElement?.id;
  const confirmed = form.querySelector("#id_again:checked")?.value; // the newest earlier run that the user has seen
  for (const fragment of answer.content.querySelectorAll("[data-fragment]")) {
    form.querySelector(`[data-fragment="${fragment.dataset.fragment}"]`)?.replaceChildren(...fragment.childNodes);
  }
  if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus();
  const again = document.getElementById("id_again");
  if (again) again.checked = again.value === confirmed;
  if (field("layout").value !== BY_HAND) fillFromLayout(answer.content);
  else for (const row of rows) place(row.dataset.row);
  showErrors(answer.content);
  choose(chosen);
  markWrong();
  describeSheet();
};

// The boxes of the automatic or the saved layout, as the starting point of the next move.
const fillFromLayout = (answer) => {
  for (const { dataset } of answer.querySelectorAll("[data-boxed]")) {
    const part = dataset.boxed;
    for (const length of LENGTHS) {
      const input = field(`${part}_${length}`);
      if (input && dataset[length]) input.value = dataset[length];
    }
    const centred = field(`${part}_centred`);
    if (centred) centred.checked = dataset.centred !== undefined;
    if (layouts[field("layout").value] && field(part)?.type === "checkbox") field(part).checked = dataset.on !== undefined;
    form.querySelector(`[data-row="${part}"]`).toggleAttribute("data-off", dataset.on === undefined);
  }
  const note = answer.querySelector("[data-note]");
  if (note && layouts[field("layout").value]) field("note").value = note.dataset.note;
};

const showErrors = (answer) => {
  const wrong = new Map();
  for (const line of answer.querySelectorAll("[data-boxed]")) wrong.set(line.dataset.boxed, "");
  for (const each of form.querySelectorAll("[data-errors-of]")) wrong.set(each.dataset.errorsOf, "");
  const invalid = new Set();
  for (const line of form.querySelectorAll("[data-wrong]")) {
    const name = line.dataset.wrong;
    const message = line.querySelector("span").textContent;
    const [part] = name.split("_");
    const where = wrong.has(name) ? name : part;
    wrong.set(where, `${wrong.get(where) ?? ""} ${message}`.trim());
    invalid.add(name);
  }
  for (const [name, text] of wrong) showError(name, text);
  for (const input of form.elements) {
    if (!input.name) continue;
    if (invalid.has(input.name)) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  }
};

const stale = form.querySelector("[data-stale]");

const loadPreview = latestOnly(async (signal) => {
  schedulePreview.stop();
  show(await getHtml(addressWith(form.dataset.live, form, NOT_PREVIEWED), signal));
  stale.textContent = "";
}, () => { stale.textContent = texts.textStale; });
const schedulePreview = debounce(loadPreview, PAUSE);

const { describeSheet } = sheetOf(form, schedulePreview);

const changed = ({ target }) => {
  form.dataset.output = field("output").value;
  if (target.name === "layout") {
    const known = layouts[target.value];
    if (known) {
      field("layout_name").value = known.name;
      field("layout_from").value = known.from;
    } else if (target.value === "") {
      field("layout_from").value = "";
    }
    form.dataset.layout = target.value;
  }
  const row = target.closest?.("[data-row]");
  if (row && target.name) {
    const part = row.dataset.row;
    const isPlace = target.name.startsWith(`${part}_`);
    if (isPlace || layouts[field("layout").value]) switchToByHand();
    if (target.type === "checkbox" && target.name === part) row.toggleAttribute("data-off", !target.checked);
    if (part === "note" && target.name === "note") row.toggleAttribute("data-off", !target.value);
    if (isPlace) place(part);
    check();
  }
  schedulePreview();
};
for (const kind of ["input", "change"]) form.addEventListener(kind, changed);

form.classList.add("has-script");
describeSheet();
markWrong();
