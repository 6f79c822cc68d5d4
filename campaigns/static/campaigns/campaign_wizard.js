// The wizard of campaigns: fields that matter alone, the line of milestones and the phone as they are typed. Its steps are
// those of every wizard; without scripts the form is one long page that says the same.
import { LOCALE } from "../portal/locale.js";
import { inSteps } from "../portal/wizard.js";

const form = document.querySelector(".campaign-wizard");
const SVG = "http://www.w3.org/2000/svg";
const rewards = JSON.parse(document.getElementById("wizard-rewards").textContent);

const valueOf = (name) => {
  const field = form.elements.namedItem(name);
  return field instanceof RadioNodeList ? field.value : field?.value ?? "";
};

const see = (name) => form.querySelector(`[data-see=${name}]`);

// --- Fields that only matter with another one's value

const showWhatMatters = () => {
  for (const place of form.querySelectorAll("[data-when]")) {
    const [name, value] = place.dataset.when.split("=");
    place.hidden = valueOf(name) !== value;
  }
};

// --- What was typed, as members will see it

const milestones = () => [...form.querySelectorAll("[data-row]")].map(({ dataset: { row } }) => {
  const gives = form.elements.namedItem(`gives_${row}`);
  const chosen = gives.value;
  const points = valueOf(`points_${row}`).trim();
  const asPoints = points && see("stops").dataset.points.replace("[points]", points);
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
  const stops = milestones();
  see("name").textContent = valueOf("name");
  see("goal").textContent = goal.toLocaleString(LOCALE);
  see("bar").setAttribute("width", (100 / goal).toFixed(1));
  form.querySelector("[data-beyond]").hidden = !stops.some(({ at }) => at > goal);
  see("stops").replaceChildren(...stops.map(({ at, reward }) => {
    const item = document.createElement("li");
    const number = document.createElement("strong");
    const text = document.createElement("span");
    number.textContent = see("stops").dataset.at.replace("[number]", at.toLocaleString(LOCALE));
    text.textContent = reward || "";
    text.dir = "auto";
    item.append(number, " ", text);
    return item;
  }));
  form.querySelector("[data-stops]").replaceChildren(...stops.flatMap(({ at }) => {
    const x = `${Math.min(100, (100 * at) / goal).toFixed(1)}%`;
    return [
      drawn("circle", { class: "campaign-stop", cx: x, cy: 23, r: 8 }),
      drawn("text", { class: "campaign-number", x, y: 11, "text-anchor": "middle" }, at.toLocaleString(LOCALE)),
    ];
  }));
  const points = stops.reduce((sum, stop) => sum + stop.points, 0);
  const things = stops.filter(({ chosen }) => chosen && chosen !== "points").length;
  const worth = form.querySelector("[data-worth]");
  const counted = { points: points.toLocaleString(LOCALE), rewards: things };
  worth.textContent = worth.dataset.text.replace(/\[(points|rewards)\]/g, (_all, name) => counted[name]);
  showWhatMatters();
};
// --- What follows the goal: the milestone at it, and its number in a name that nobody has typed

let goalBefore = valueOf("target_value");
const nameField = form.elements.namedItem("name");
let nameFollows = location.pathname.endsWith("/new/") && !form.querySelector("[data-rejected]");
const followGoal = ({ target }) => {
  const goal = valueOf("target_value");
  if (target.name !== "target_value" || !(Number(goal) > 0)) return;
  for (const { dataset: { row } } of form.querySelectorAll("[data-row]")) {
    const at = form.elements.namedItem(`at_${row}`);
    if (at.value && at.value === goalBefore) at.value = goal;
  }
  if (nameFollows) nameField.value = nameField.value.replace(new RegExp(`\\b${goalBefore}\\b`), goal);
  goalBefore = goal;
};
nameField.addEventListener("input", () => { nameFollows = false; });

// --- Rows of milestones: one that is removed is empty again

const OF_A_ROW = ["at", "gives", "points", "new"];
const fieldsOf = ({ dataset: { row } }) => OF_A_ROW.map((name) => form.elements.namedItem(`${name}_${row}`));
const offerRemoval = () => {
  for (const row of form.querySelectorAll("[data-row]"))
    row.querySelector("[data-remove]").hidden = !fieldsOf(row).some(({ value }) => value);
};
form.addEventListener("click", ({ target }) => {
  if (!target.matches("[data-remove]")) return;
  const fields = fieldsOf(target.closest("[data-row]"));
  for (const field of fields) field.value = "";
  fields[0].focus();
  fields[0].dispatchEvent(new Event("change", { bubbles: true }));
});

// --- When it begins and ends, on the step that launches it

const showDays = () => {
  const days = new Intl.DateTimeFormat(LOCALE, { dateStyle: "full", timeZone: "UTC" });
  form.querySelector("[data-days]").hidden = false;
  for (const place of form.querySelectorAll("[data-day]")) {
    const day = new Date(valueOf(place.dataset.day));
    place.textContent = Number.isNaN(day.getTime()) ? place.dataset.none : days.format(day);
  }
};

form.addEventListener("change", followGoal);
form.addEventListener("input", show);
form.addEventListener("change", showDays);
form.addEventListener("change", show);
form.addEventListener("input", offerRemoval);
form.addEventListener("change", offerRemoval);

show();
offerRemoval();
showDays();
inSteps(form);
