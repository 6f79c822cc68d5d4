// The builder of earning rules and segments: rows for conditions and limits, their meaning as a sentence, what a rule
// would earn, and how many members a segment has.
// Two hidden fields of the form store the rows' values.
import { button, element } from "../portal/elements.js";
import { debounce, latestOnly, postForm } from "../portal/requests.js";
import { choice, editorsOf, labelled } from "./rule_values.js";

const vocabulary = JSON.parse(document.getElementById("rule-vocabulary")?.textContent || "null");
const tryOut = document.querySelector("[data-try-out]");
const form = document.querySelector("[data-rule-part]")?.form;
const PAUSE = 400;

if (vocabulary && form) {
  const labels = vocabulary.labels;
  const carrier = form.querySelector("[data-rule-part=conditions]");
  const kindField = form.elements[carrier.dataset.kindField || "kind"];
  const kinds = JSON.parse(carrier.dataset.kinds || "null");
  const kind = () => {
    const named = kindField?.value || form.querySelector("[data-kind]")?.dataset.kind || "scan-auth";
    return kinds ? kinds[named] || named : named;
  };
  const choicesAt = tryOut?.dataset.choices || carrier.dataset.choices;
  const brand = () => form.elements.brand?.value || tryOut?.dataset.brand || carrier.dataset.brand || "";
  // Fields of own kinds belong to one brand.
  const isBrands = (field) => !field.brand || !brand() || String(field.brand) === brand();
  const isForKind = (field) => !field.kinds || field.kinds.includes(kind());
  const fieldsNow = () => vocabulary.fields.filter((field) => isForKind(field) && isBrands(field));
  const fieldNamed = (name) => fieldsNow().find((field) => field.name === name) || vocabulary.fields.find((field) => field.name === name);
  const parts = Object.fromEntries([...form.querySelectorAll("[data-rule-part]")].map((input) => [input.dataset.rulePart, input]));
  const read = (part, empty) => {
    try { return JSON.parse(parts[part]?.value || "null") || empty; } catch { return empty; }
  };
  let conditions;
  let limits;
  const load = () => {
    conditions = read("conditions", {});
    if (!Object.keys(conditions).length) conditions = { all: [] };
    limits = read("limits", []);
  };
  load();

  const readSoon = debounce(() => readBack(), PAUSE);
  const changed = () => {
    const key = Object.keys(conditions)[0];
    parts.conditions.value = JSON.stringify(conditions[key].length ? conditions : {});
    if (parts.limits) parts.limits.value = JSON.stringify(limits);
    readSoon();
  };

  const optionsWith = async (parameters) => {
    if (!choicesAt || !brand()) return [];
    const address = `${choicesAt}?${new URLSearchParams({ brand: brand(), ...parameters })}`;
    const answer = await fetch(address, { redirect: "error" });
    return answer.ok ? (await answer.json()).options : [];
  };
  const optionsOf = (name, query) => optionsWith({ name, q: query });
  const named = async (name, ids) => Object.fromEntries(ids.length ? await optionsWith({ name, ids: ids.join(",") }) : []);

  const editors = editorsOf({ vocabulary, changed, optionsOf, named });

  // --- Rows and groups

  const removeButton = (what, remove) => button(labels.remove, remove, { ariaLabel: `${labels.remove}: ${what}` });
  const rowOf = (row, remove) => {
    const field = fieldNamed(row.field) || fieldsNow()[0];
    const operator = field.operators.find((each) => each.name === row.operator) || field.operators[0];
    row.operator = operator.name;
    const known = fieldsNow();
    const offered = known.includes(field) ? known : [field, ...known];
    return element(
      "div", { className: "rule-row", role: "group", ariaLabel: field.label },
      choice(offered.map((each) => [each.name, each.label]), field.name, labels.field, (name) => {
        Object.assign(row, { field: name, operator: "", value: null });
        redraw();
      }),
      choice(field.operators.map((each) => [each.name, each.label]), operator.name, labels.operator, (name) => {
        const next = field.operators.find((each) => each.name === name);
        if (next.shape !== operator.shape) row.value = null;
        row.operator = name;
        redraw();
      }),
      ...editors[operator.shape](row, field),
      removeButton(field.label, remove),
    );
  };
  const groupOf = (group, depth, remove) => {
    const key = Object.keys(group)[0];
    const rows = group[key];
    const box = element("div", { className: "rule-group", role: "group", ariaLabel: vocabulary.groups[key] });
    const head = element("div", { className: "rule-row" }, choice(Object.entries(vocabulary.groups), key, labels.group, (next) => {
      delete group[key];
      group[next] = rows;
      redraw();
    }));
    if (remove) head.append(removeButton(vocabulary.groups[key], remove));
    box.append(head);
    rows.forEach((part, at) => {
      const removePart = () => { rows.splice(at, 1); redraw(); };
      box.append("field" in part ? rowOf(part, removePart) : groupOf(part, depth + 1, removePart));
    });
    if (!rows.length && depth === 1) box.append(element("p", { textContent: labels.none }));
    const buttons = element("div", { className: "rule-row" }, button(labels.add, () => {
      rows.push({ field: fieldsNow()[0].name, operator: "", value: null });
      redraw();
    }));
    if (depth < 3) buttons.append(button(labels.add_group, () => { rows.push({ any: [] }); redraw(); }));
    box.append(buttons);
    return box;
  };
  const limitOf = (limit, at) => {
    const offered = (name, allowed) => Object.entries(vocabulary.limits[name]).filter(([value]) => allowed.includes(value));
    const isRule = limit.per === "rule";
    const box = element("div", { className: "rule-row", role: "group" });
    const set = (name) => (value) => {
      limit[name] = value;
      if (limit.per === "rule") limit.period = "ever";
      else if (limit.what === "money") limit.what = "points";
      if (limit.what !== "money") delete limit.point_cost;
      redraw();
    };
    const input = (name, label) => {
      const made = element("input", { type: "number", min: "0", step: "any", value: limit[name] ?? "" });
      made.addEventListener("input", () => { limit[name] = made.value; changed(); });
      return labelled(label, made);
    };
    box.append(
      input("most", labels.most),
      choice(offered("what", isRule ? ["points", "events", "money"] : ["points", "events"]), limit.what, labels.what, set("what")),
      choice(offered("per", ["member", "rule"]), limit.per, labels.per, set("per")),
    );
    if (!isRule) {
      const periods = limit.what === "events" ? ["day", "week", "month", "ever"] : ["event", "day", "week", "month", "ever"];
      box.append(choice(offered("period", periods), limit.period, labels.period, set("period")));
    }
    if (limit.what === "money") box.append(input("point_cost", labels.cost));
    box.append(removeButton(`${labels.most} ${limit.most ?? ""}`, () => { limits.splice(at, 1); redraw(); }));
    return box;
  };
  const redraw = () => {
    const [left, right] = ["conditions", "limits"].map((part) => form.querySelector(`[data-rule-rows=${part}]`));
    const place = [...form.querySelectorAll(".rule-rows :is(select, input, button)")].indexOf(document.activeElement);
    left.replaceChildren(groupOf(conditions, 1, null));
    right?.replaceChildren(
      ...(limits.length ? limits.map(limitOf) : [element("p", { textContent: labels.no_limits })]),
      button(labels.add_limit, () => { limits.push({ per: "member", what: "points", period: "month", most: "" }); redraw(); }),
    );
    // The keyboard focus stays where it was.
    [...form.querySelectorAll(".rule-rows :is(select, input, button)")][place]?.focus();
    changed();
  };
  kindField?.addEventListener("change", redraw);
  // Only a percentage needs the amount that it is taken of.
  const effect = form.elements.reward_type;
  const basis = form.elements.basis?.closest(".field-line");
  const showBasis = () => { basis.hidden = effect.value !== "percentage"; };
  if (basis) {
    effect.addEventListener("change", showBasis);
    showBasis();
  }
  // A draft that drafts.js restores.
  for (const input of Object.values(parts)) {
    input.addEventListener("change", () => {
      load();
      redraw();
    });
  }
  form.addEventListener("input", (event) => { if (!event.target.closest(".rule-rows")) changed(); });

  // --- The sentence and the trial

  // Each request sends the form's values; its answer is dropped if another request has started in the meantime.
  const question = (address, more = () => ({})) => latestOnly((signal) => {
    const data = new FormData(form);
    if (tryOut.dataset.rule) data.set("rule", tryOut.dataset.rule);
    if (!data.get("brand")) data.set("brand", tryOut.dataset.brand || "");
    if (!data.get("kind")) data.set("kind", kind());
    for (const [name, value] of Object.entries(more())) data.set(`trial_${name}`, value);
    return postForm(address, data, signal);
  });
  const part = (name) => tryOut?.querySelector(`[data-part=${name}]`);
  const readSentence = tryOut && question(tryOut.dataset.read);
  async function readBack() {
    const answer = await readSentence?.();
    if (!answer) return;
    part("sentence").textContent = answer.sentence;
    part("overlaps").replaceChildren(...answer.notes.map((text) => element("li", { textContent: text })));
    if (!part("count")) return;
    part("count").textContent = answer.count;
    part("sample").replaceChildren(...answer.sample.map(([text, href]) => element("li", {}, element("a", { textContent: text, href }))));
  }

  const trial = part("trial");
  if (trial) {
    const inputs = Object.fromEntries([...trial.querySelectorAll("input, select")].map((input) => [input.name, input]));
    const readEvents = question(tryOut.dataset.try, () => ({ member: inputs.member.value, list: "1" }));
    const tryRule = question(tryOut.dataset.try, () => (
      Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value]))
    ));
    // For an own kind, the values of its payload.
    const ENTRIES = { date: "date", time: "time", whole: "number", decimal: "number" };
    const entryOf = (field) => {
      const several = { switch: [["true", labels.yes], ["false", labels.no]], option: field.options.map((name) => [name, name]) }[field.entry];
      const made = several
        ? element("select", { name: field.name }, element("option", { value: "" }), ...several.map(([value, text]) => element("option", { value, textContent: text })))
        : element("input", { name: field.name, type: ENTRIES[field.entry] || "text", step: field.entry === "decimal" ? "any" : "" });
      const label = labelled(field.label, made);
      label.dataset.madeUp = label.dataset.own = "";
      return label;
    };
    const ownEntries = () => {
      for (const label of trial.querySelectorAll("[data-own]")) {
        delete inputs[label.querySelector("input, select").name];
        label.remove();
      }
      for (const field of fieldsNow().filter((each) => each.entry)) {
        const label = entryOf(field);
        inputs[field.name] = label.querySelector("input, select");
        trial.append(label);
      }
    };
    const show = () => {
      const isMadeUp = !inputs.event.value;
      const isOwn = Boolean(vocabulary.own.includes(kind()));
      for (const label of trial.querySelectorAll("[data-made-up]")) {
        const isOther = label.dataset.for && !label.dataset.for.split(" ").includes(kind());
        label.hidden = !isMadeUp || Boolean(isOther) || (isOwn && "general" in label.dataset);
      }
    };
    let offered = [];
    inputs.product_query.addEventListener("input", async () => {
      const match = offered.find(([, text]) => text === inputs.product_query.value);
      inputs.product.value = match ? match[0] : "";
      if (match) return;
      offered = await optionsOf("products", inputs.product_query.value);
      trial.querySelector("datalist").replaceChildren(...offered.map(([, text]) => element("option", { value: text })));
    });
    inputs.member.addEventListener("change", async () => {
      const answer = await readEvents();
      const first = inputs.event.options[0];
      inputs.event.replaceChildren(first, ...(answer?.events || []).map(([value, text]) => element("option", { value, textContent: text })));
      show();
    });
    inputs.event.addEventListener("change", show);
    const renew = () => { ownEntries(); show(); };
    kindField?.addEventListener("change", renew);
    form.elements.brand?.addEventListener?.("change", renew);
    part("go").addEventListener("click", async () => {
      const answer = await tryRule();
      if (!answer) return;
      part("result").replaceChildren(...answer.lines.map(([title, lines]) => element(
        "div", { className: "mb-2" },
        element("p", { className: "font-semibold", textContent: title }),
        element("ul", { className: "list-disc" }, ...lines.map((text) => element("li", { textContent: text }))),
      )));
    });
    renew();
  }
  redraw();
}
