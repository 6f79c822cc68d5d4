// The wizard of campaigns: shows only the fields that apply, and draws the line of milestones and the phone while the user
// types. Its steps work as in every wizard; without scripts the form is one long page with the same fields.
import { element } from "../portal/elements.js";
import { LOCALE } from "../portal/locale.js";
import { inSteps } from "../portal/wizard.js";
import { showSummary } from "./campaign_summary.js";

const form = document.querySelector(".campaign-wizard");
const SVG = "http://www.w3.org/2000/svg";
const rewards = JSON.parse(document.getElementById("wizard-rewards").textContent);

const valueOf = (name) => {
  const field = form.elements.namedItem(name);
  return field instanceof RadioNodeList ? field.value : field?.value ?? "";
};

const preview = (name) => form.querySelector(`[data-preview=${name}]`);

// --- Fields that only apply with a certain value of another

const showWhatMatters = () => {
  for (const place of form.querySelectorAll("[data-when]")) {
    const [name, value] = place.dataset.when.split("=");
    place.hidden = valueOf(name) !== value;
  }
};

// --- The typed values, as members will see them

const typedMilestones = () => [...form.querySelectorAll("[data-row]")].map(({ dataset: { row } }) => {
  const gives = form.elements.namedItem(`gives_${row}`);
  const chosen = gives.value;
  const points = valueOf(`points_${row}`).trim();
  const asPoints = points && preview("milestones").dataset.points.replace("[points]", points);
  const reward = { points: asPoints, new: valueOf(`new_${row}`) }[chosen] ?? rewards[chosen] ?? "";
  return { at: Number(valueOf(`at_${row}`)), reward, points: chosen === "points" ? Number(points) || 0 : 0, chosen };
}).filter(({ at }) => at > 0).sort((one, other) => one.at - other.at);

const drawn = (kind, attributes, text = "") => {
  const made = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
};
const show = () => {
  const goal = Math.max(1, Number(valueOf("target_value")) || 1);
  const all = typedMilestones();
  const milestones = all.filter(({ at }) => at <= goal);
  preview("name").textContent = valueOf("name");
  preview("goal").textContent = goal.toLocaleString(LOCALE);
  preview("bar").setAttribute("width", (100 / goal).toFixed(1));
  form.querySelector("[data-beyond]").hidden = milestones.length === all.length;
  preview("milestones").replaceChildren(...milestones.map(({ at, reward }) => element(
    "li", {},
    element("strong", { textContent: preview("milestones").dataset.at.replace("[number]", at.toLocaleString(LOCALE)) }),
    " ",
    element("span", { textContent: reward || "", dir: "auto" }),
  )));
  form.querySelector("[data-milestones]").replaceChildren(...milestones.flatMap(({ at }) => {
    const x = `${((100 * at) / goal).toFixed(1)}%`;
    return [
      drawn("circle", { class: "campaign-milestone", cx: x, cy: 23, r: 8 }),
      drawn("text", { class: "campaign-number", x, y: 11, "text-anchor": "middle" }, at.toLocaleString(LOCALE)),
    ];
  }));
  const points = milestones.reduce((sum, milestone) => sum + milestone.points, 0);
  const things = milestones.filter(({ chosen }) => chosen && chosen !== "points").length;
  const worth = form.querySelector("[data-worth]");
  const counted = { points: points.toLocaleString(LOCALE), rewards: things };
  worth.textContent = worth.dataset.text.replace(/\[(points|rewards)\]/g, (_all, name) => counted[name]);
  showWhatMatters();
  showSummary(form);
};

// --- Values that follow the goal until the user edits them: the milestones of a template, and its number in a name

const rows = [...form.querySelectorAll("[data-row]")];
const fieldOf = (row, name) => form.elements.namedItem(`${name}_${row.dataset.row}`);
const isFresh = location.pathname.endsWith("/new/") && !form.querySelector("[data-rejected]");
const nameField = form.elements.namedItem("name");
const followers = new Set(isFresh ? [nameField] : []);
let goalBefore = valueOf("target_value");
const shareOfGoal = new Map(rows.map((row) => [fieldOf(row, "at"), fieldOf(row, "at").value / goalBefore]));
if (isFresh) shareOfGoal.forEach((share, at) => { if (share > 0) followers.add(at); });
const followGoal = ({ target }) => {
  const goal = valueOf("target_value");
  if (target.name !== "target_value" || !(Number(goal) > 0)) return;
  for (const row of rows) {
    const at = fieldOf(row, "at");
    if (followers.has(at)) at.value = Math.max(1, Math.round(shareOfGoal.get(at) * goal));
    else if (at.value && at.value === goalBefore) at.value = goal;
  }
  if (followers.has(nameField)) nameField.value = nameField.value.replace(new RegExp(`\\b${goalBefore}\\b`), goal);
  goalBefore = goal;
};
form.addEventListener("input", ({ target }) => followers.delete(target));

// --- Rows of milestones: the filled ones, and one more per press of a button

const OF_A_ROW = ["at", "gives", "points", "new", "auto"];
const isFilled = (row) => OF_A_ROW.slice(0, -1).some((name) => fieldOf(row, name).value) || row.querySelector(".errors");
const add = form.querySelector("[data-add]");
let visibleRows = 1;
const showRows = () => {
  visibleRows = Math.max(visibleRows, rows.findLastIndex(isFilled) + 1);
  rows.forEach((row, at) => {
    row.hidden = at >= visibleRows;
    row.querySelector("[data-remove]").hidden = visibleRows === 1 && !isFilled(row);
  });
  add.hidden = visibleRows === rows.length;
};
const dispatchChange = (field) => field.dispatchEvent(new Event("change", { bubbles: true }));

add.addEventListener("click", () => {
  visibleRows += 1;
  showRows();
  fieldOf(rows[visibleRows - 1], "at").focus();
});

// The rows below move up, so that the numbering stays without gaps.
form.addEventListener("click", ({ target }) => {
  if (!target.matches("[data-remove]")) return;
  const removed = rows.indexOf(target.closest("[data-row]"));
  for (const [at, row] of rows.entries()) {
    if (at < removed) continue;
    row.querySelectorAll(".errors").forEach((error) => error.remove());
    for (const name of OF_A_ROW) {
      const next = rows[at + 1] && fieldOf(rows[at + 1], name);
      fieldOf(row, name).value = next ? next.value : name === "auto" ? "auto" : "";
    }
    followers.delete(fieldOf(row, "at"));
  }
  visibleRows = Math.max(1, visibleRows - 1);
  showRows();
  fieldOf(rows[Math.min(removed, visibleRows - 1)], "at").focus();
  dispatchChange(fieldOf(rows[0], "at"));
});

form.addEventListener("change", followGoal);
for (const kind of ["input", "change"]) {
  form.addEventListener(kind, show);
  form.addEventListener(kind, showRows);
}
form.addEventListener("click", () => showSummary(form)); // shows a replay that has ended in the meantime

show();
showRows();
inSteps(form);
