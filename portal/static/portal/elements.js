// Makes elements of a page, and buttons that do something.

// An element with properties, and with what stands in it.
export const element = (kind, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(kind), properties);
  made.append(...children);
  return made;
};

// A button that sends no form, but does `act`.
export const button = (text, act, properties = {}) =>
  element("button", { type: "button", textContent: text, onclick: act, ...properties });
