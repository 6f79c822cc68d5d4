// Fills copies of the page's <template>s. Data reaches the page as text, as a number or a date, never as markup.
const { lang } = document.documentElement, language = lang === "en" ? "en-GB" : lang;
const numbers = new Intl.NumberFormat(language, { maximumFractionDigits: 2 });
const moments = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
const days = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeZone: "UTC" });

const at = (data, path) => path.split(".").reduce((part, name) => part?.[name], data);
const hasValue = (value) => (Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null && value !== "" && value !== false && value !== 0);
const number = (value) => (typeof value === "number" ? numbers.format(value) : "");

export const message = (name) =>
  (document.getElementById("messages").content.querySelector(`[data-message="${CSS.escape(name)}"]`) ||
    document.getElementById("messages").content.querySelector('[data-message="other"]')).textContent;

// The link to a contact, by the rules of brands/tenants/contacts.py; none for a text without an address or number.
const ADDRESS = /[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+/;
const PHONE = /\+?[0-9(][0-9 ()./\u2010-\u2015-]{4,28}[0-9]/g;
function contactLink(text) {
  const address = ADDRESS.exec(text);
  if (address) return `mailto:${encodeURIComponent(address[0]).replace("%40", "@")}`;
  for (const [match] of text.matchAll(PHONE)) {
    const digits = match.replace(/[^0-9]/g, "");
    if (digits.length >= 6) return `tel:${match.startsWith("+") ? "+" : ""}${digits}`;
  }
  return "";
}

// By data attribute, how its value reaches the element; an element may have several, which apply in this order.
const WAYS = {
  text: (element, value) => { element.textContent = value ?? ""; },
  lines: (element, value) => { element.textContent = Array.isArray(value) ? value.join(" · ") : ""; },
  number: (element, value) => { element.textContent = number(value); },
  date: (element, value) => { element.textContent = value ? moments.format(new Date(value)) : ""; },
  day: (element, value) => { element.textContent = value ? days.format(new Date(value)) : ""; },
  reason: (element, value) => { element.textContent = message(String(value || "other")); },
  max: (element, value) => { element.max = Number(value) || 1; },
  value: (element, value) => { element.value = Number(value) || 0; }, // after `max`, which bounds it
  ring: (element, value) => { element.setAttribute("stroke-dasharray", `${Number(value) || 0} 100`); },
  id: (element, value) => { element.value = String(value); },
  named: (element, value) => { element.setAttribute("aria-label", [element.textContent.trim(), value].filter(Boolean).join(": ")); },
  mail: (element, value) => { element.href = `mailto:${encodeURIComponent(value ?? "")}`; },
  contact: (element, value) => {
    const link = contactLink(String(value ?? ""));
    if (link) element.href = link;
  },
  // Only the service's own pictures.
  src: (element, value) => { if (/^\/pictures\/[0-9a-f-]{36}\/small$/.test(value)) element.src = value; },
  qr: (element, value) => { if (/^\d+$/.test(value)) element.src = `/page/reward/${value}.svg`; },
  // The question before points are spent; `left` is the remaining balance.
  ask: (element, _value, { name, cost, left }) => {
    const values = { name, cost: number(cost), left: number(left) };
    element.dataset.question = message("ask").replace(/\{(\w+)\}/g, (_all, part) => values[part] ?? "");
  },
  change: (element, _value, line) => {
    const came = line.points_earned || line.points_pending;
    const went = line.points_redeemed || line.points_expired || line.points_reversed || line.points_cleared;
    element.textContent = came ? `+${number(came)}` : `−${number(went)}`;
  },
};

function fill(root, data) {
  for (const element of root.querySelectorAll("[data-if]")) if (!hasValue(at(data, element.dataset.if))) element.remove();
  for (const element of root.querySelectorAll("[data-unless]")) if (hasValue(at(data, element.dataset.unless))) element.remove();
  for (const list of root.querySelectorAll("template[data-each]")) {
    list.replaceWith(...at(data, list.dataset.each).map((each) => fill(list.content.cloneNode(true), each)));
  }
  for (const [way, set] of Object.entries(WAYS)) {
    for (const element of root.querySelectorAll(`[data-${way}]`)) {
      set(element, at(data, element.dataset[way]), data);
      delete element.dataset[way];
    }
  }
  return root;
}

/** A filled copy of the template with this id, or nothing if there is none. */
export function copy(id, data = {}) {
  const template = document.getElementById(id);
  return template ? fill(template.content.cloneNode(true), data) : "";
}
