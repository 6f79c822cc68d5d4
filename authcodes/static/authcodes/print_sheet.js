// The sheet of the print studio: its first free label is chosen by a click or with the keyboard.
export const sheetOf = (form, changed) => {
  const sheet = form.querySelector("[data-sheet]");
  const slots = () => sheet.querySelector("[data-slots]");
  const start = form.elements.namedItem("start");

  const describeSheet = () => {
    if (!slots()) return;
    const attributes = {
      role: "slider", tabindex: "0", "aria-label": form.dataset.textSlot,
      "aria-valuemin": 1, "aria-valuemax": slots().dataset.perPage, "aria-valuenow": Number(start.value) || 1,
    };
    for (const [name, value] of Object.entries(attributes)) sheet.setAttribute(name, value);
  };

  const startAt = (number) => {
    const first = Math.min(Number(slots().dataset.perPage), Math.max(1, number));
    start.value = first;
    for (const slot of slots().querySelectorAll("[data-slot]")) {
      slot.classList.toggle("is-used", Number(slot.dataset.slot) < first);
      slot.classList.toggle("is-first", Number(slot.dataset.slot) === first);
    }
    describeSheet();
    changed();
  };

  sheet.addEventListener("click", (event) => {
    const number = Number(event.target.dataset?.slot);
    if (number) startAt(number);
  });

  sheet.addEventListener("keydown", (event) => {
    if (!slots()) return;
    const { across, down, perPage } = slots().dataset;
    const now = Number(start.value) || 1;
    const to = {
      ArrowRight: now + Number(across), ArrowLeft: now - Number(across),
      ArrowDown: now + Number(down), ArrowUp: now - Number(down), Home: 1, End: Number(perPage),
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    startAt(to);
  });

  return { describeSheet };
};
