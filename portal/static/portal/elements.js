// Creates elements of a page, and buttons with an action.

// An element with properties and content.
export const element = (kind, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(kind), properties);
  made.append(...children);
  return made;
};

// A button that calls `act` instead of sending a form.
export const button = (text, act, properties = {}) =>
  element("button", { type: "button", textContent: text, onclick: act, ...properties });
