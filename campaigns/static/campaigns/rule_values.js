// The values of conditions in the rule builder: for each type of value the controls that edit it.
import { button, element } from "../portal/elements.js";

export const labelled = (text, control) => element("label", {}, element("span", { textContent: text }), control);
export const choice = (options, chosen, label, onchange) => {
  const made = element("select", { onchange: () => onchange(made.value) });
  made.append(...options.map(([value, text]) => element("option", { value, textContent: text, selected: value === chosen })));
  return labelled(label, made);
};

let lists = 0;

// Texts in one input, separated by commas; one that contains a comma is in quotation marks.
const quoted = (text) => (text.includes(",") ? `"${text}"` : text);
const joined = (texts) => texts.map(quoted).join(", ");
const separated = (text) => [...text.matchAll(/\s*"([^"]*)"\s*(?:,|$)|([^,]+)/g)]
  .map(([, inQuotes, plain]) => (inQuotes ?? plain).trim())
  .filter(Boolean);

// `changed`: called after each change of a row. `optionsOf` and `named`: rows of the brand, by search text and by ids.
export const editorsOf = ({ vocabulary, changed, optionsOf, named }) => {
  const labels = vocabulary.labels;

  // An input that stores the typed value.
  const input = (label, value, store, more) => {
    const made = element("input", { ...more, value: value ?? "" });
    made.addEventListener("input", () => { store(made.value); changed(); });
    return labelled(label, made);
  };
  const typed = (row, more) => [input(labels.value, row.value, (value) => { row.value = value; }, more)];
  const pair = (row, more) => {
    if (!Array.isArray(row.value) || row.value.length !== 2) row.value = ["", ""];
    return [0, 1].map((at) => input(at ? labels.and : labels.value, row.value[at], (value) => { row.value[at] = value; }, more));
  };
  // A value that consists of several named numbers.
  const numbers = (row, usual, more) => {
    if (typeof row.value !== "object" || Array.isArray(row.value) || !row.value) row.value = usual;
    return Object.keys(usual).map(
      (name) => input(labels[name], row.value[name], (value) => { row.value[name] = value; }, { type: "number", ...more }),
    );
  };
  const suggested = (more) => {
    const list = element("datalist", { id: `rule-list-${lists += 1}` });
    const made = element("input", { type: "text", ...more });
    made.setAttribute("list", list.id);
    return [made, list];
  };
  const listOfTexts = (row, field) => {
    const [made, list] = suggested({ value: joined(Array.isArray(row.value) ? row.value : []), title: labels.several });
    made.addEventListener("input", () => { row.value = separated(made.value); changed(); });
    const offer = async () => {
      const texts = separated(made.value);
      const query = (texts.pop() || "").replace(/^"/, "");
      const options = field.choices ? await optionsOf(field.choices, query) : [];
      list.replaceChildren(...options.map(([value]) => element("option", { value: joined([...texts, value]) })));
    };
    made.addEventListener("focus", offer);
    made.addEventListener("input", offer);
    return [labelled(labels.several, made), list];
  };
  const chosenRows = (row, field) => {
    if (!Array.isArray(row.value)) row.value = [];
    const chips = element("div", { className: "rule-chips" });
    const [made, list] = suggested({ placeholder: labels.search, autocomplete: "off" });
    let offered = [];
    const show = async () => {
      const names = await named(field.choices, row.value);
      chips.replaceChildren(...row.value.map((id) => {
        const name = names[id] || labels.unnamed;
        const remove = () => { row.value = row.value.filter((each) => each !== id); changed(); show(); };
        return button(`${name} ×`, remove, { ariaLabel: `${labels.remove}: ${name}` });
      }));
    };
    const offer = async () => {
      offered = await optionsOf(field.choices, made.value);
      list.replaceChildren(...offered.map(([, text]) => element("option", { value: text })));
    };
    made.addEventListener("focus", offer);
    made.addEventListener("input", () => {
      const match = offered.find(([, text]) => text === made.value);
      if (!match) { offer(); return; }
      if (!row.value.includes(Number(match[0]))) row.value.push(Number(match[0]));
      made.value = "";
      changed();
      show();
    });
    show();
    return [labelled(field.label, made), list, chips];
  };
  // A checkbox for each choice; the value lists the ticked ones, in the order of the choices.
  const boxes = (row, choices) => {
    if (!Array.isArray(row.value)) row.value = [];
    const set = element("fieldset", { className: "rule-days" }, element("legend", { className: "sr-only", textContent: labels.value }));
    for (const [value, text] of choices) {
      const box = element("input", { type: "checkbox", checked: row.value.includes(value) });
      box.addEventListener("change", () => {
        const isTicked = (each) => (each === value ? box.checked : row.value.includes(each));
        row.value = choices.map(([each]) => each).filter(isTicked);
        changed();
      });
      set.append(element("label", {}, box, text));
    }
    return [set];
  };
  const yesOrNo = (row) => {
    if (typeof row.value !== "boolean") { row.value = true; changed(); }
    return [choice([["yes", labels.yes], ["no", labels.no]], row.value ? "yes" : "no", labels.value, (value) => {
      row.value = value === "yes";
      changed();
    })];
  };

  return {
    window: (row) => numbers(row, { count: "1", days: "30" }, { min: "0", step: "1" }),
    labels: (row, field) => boxes(row, field.labels),
    choices: chosenRows,
    texts: listOfTexts,
    word: (row) => typed(row, { type: "text" }),
    number: (row) => typed(row, { type: "number", step: "any" }),
    numbers: (row) => pair(row, { type: "number", step: "any" }),
    weekdays: (row) => boxes(row, vocabulary.weekdays.map((name, at) => [at + 1, name])),
    times: (row) => pair(row, { type: "time" }),
    day: (row) => typed(row, { type: "date" }),
    days: (row) => pair(row, { type: "date" }),
    circle: (row) => numbers(row, { latitude: "", longitude: "", kilometres: "10" }, { step: "any" }),
    switch: yesOrNo,
    options: (row, field) => boxes(row, field.options.map((name) => [name, name])),
  };
};
