// The wizard of campaigns: one step at a time, fields that matter alone, the line of milestones and the phone as they are
// typed. Without this file the form is one long page that says the same.
const form = document.querySelector(".campaign-wizard");
const SVG = "http://www.w3.org/2000/svg";
const rewards = JSON.parse(document.getElementById("wizard-rewards").textContent);
const LOCALE = `${document.documentElement.lang}-u-nu-latn`; // digits as the page writes them
const PAUSE = 1000;
const LONGEST_PAUSE = 30000;

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
  see("stops").replaceChildren(...stops.map(({ at, reward }) => {
    const item = document.createElement("li");
    const number = document.createElement("strong");
    const words = document.createElement("span");
    number.textContent = at.toLocaleString(LOCALE);
    words.textContent = reward || "";
    words.dir = "auto";
    item.append(number, " ", words);
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
  worth.textContent = worth.dataset.words.replace(/\[(points|rewards)\]/g, (_all, name) => counted[name]);
  showWhatMatters();
};
form.addEventListener("input", show);
form.addEventListener("change", show);

// --- Steps

const steps = [...form.querySelectorAll("[data-step]")];
const isWrong = (step) => step.querySelector(".errors") !== null;
const button = (text, act, className = "") => {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", textContent: text, className });
  made.addEventListener("click", act);
  return made;
};
const rail = document.createElement("nav");
rail.className = "campaign-rail";
rail.setAttribute("aria-label", form.dataset.steps);
let current = 0;
const forward = button(form.dataset.next, () => go(current + 1, true), "campaign-forward");
const back = button(form.dataset.before, () => go(current - 1, true));

const go = (number, hasMoved) => {
  current = Math.min(Math.max(number, 0), steps.length - 1);
  steps.forEach((step, at) => { step.hidden = at !== current; });
  [...rail.children].forEach((entry, at) => entry.toggleAttribute("aria-current", at === current));
  [...rail.children][current].setAttribute("aria-current", "step");
  back.hidden = current === 0;
  forward.hidden = current === steps.length - 1;
  if (hasMoved) {
    const title = steps[current].querySelector("h2");
    title.focus({ preventScroll: true });
    form.scrollIntoView({ block: "start" });
  }
};
rail.append(...steps.map((step, at) => button(step.querySelector("h2").textContent, () => go(at, true), isWrong(step) ? "campaign-wrong" : "")));
form.querySelector(".campaign-columns").before(rail);
form.querySelector("[data-turn]").append(back, forward);
const named = steps.findIndex((step) => `#${step.id}` === window.location.hash);
const wrong = steps.findIndex(isWrong);
go(wrong >= 0 ? wrong : Math.max(named, 0), false);

// Enter in a field goes on to the next step; only a button sends the form, and only once.
form.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.target.matches("button, textarea, a, summary")) return;
  event.preventDefault();
  go(current + 1, true);
});
let isSent = false;
form.addEventListener("submit", (event) => {
  if (isSent) event.preventDefault();
  isSent = true;
});
window.addEventListener("pageshow", () => { isSent = false; });

// --- The trial on past actions: its part of the page alone is renewed, so nothing typed is lost

const renewTrial = async () => {
  const answer = await fetch(window.location.href, { redirect: "error" });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const found = page.querySelector("[data-trial]");
  if (answer.ok && found) form.querySelector("[data-trial]").replaceChildren(...found.childNodes);
  watchTrial(PAUSE);
};
const watchTrial = (pause) => {
  const panel = form.querySelector("[data-trial] [data-job]");
  if (!panel) return;
  setTimeout(async () => {
    try {
      const answer = await fetch(`${panel.dataset.progress}?id=${panel.dataset.job}`, { redirect: "error" });
      const job = (await answer.json()).jobs[0];
      if (!job || job.ended) {
        await renewTrial();
        return;
      }
      for (const place of panel.querySelectorAll("[data-tell]")) {
        if (place instanceof HTMLProgressElement) place.value = job[place.dataset.tell];
        else place.textContent = job[place.dataset.tell];
      }
      watchTrial(PAUSE);
    } catch {
      watchTrial(Math.min(pause * 2, LONGEST_PAUSE));
    }
  }, pause);
};

show();
watchTrial(PAUSE);
