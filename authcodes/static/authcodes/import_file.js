// When a file is chosen, shows what kind of import its header makes it. A complete file is sent at once: nothing changes
// until the user commits its preview. A list waits until it has its product, and a new batch until it has a name.
addEventListener("DOMContentLoaded", () => {
  for (const form of document.querySelectorAll("[data-corrected]")) {
    form.addEventListener("change", ({ target }) => {
      if (!target.files?.length) return;
      say(form, form.dataset.corrected);
      form.requestSubmit();
    });
  }

  const guide = document.querySelector("[data-import-columns]");
  const file = document.querySelector("input[type=file][name=file]");
  const product = document.querySelector("[name=product]");
  if (!guide || !file || !product) return;

  const columns = JSON.parse(guide.dataset.importColumns);
  const brand = document.querySelector("[name=brand]");
  const message = document.createElement("p");
  message.setAttribute("role", "status");
  message.className = "mt-2 mx-3 text-sm";
  file.closest("div").after(message);
  let kind = "";

  const headerOf = async (chosen) => {
    const text = await chosen.slice(0, 4096).text();
    const line = text.replace(/^\ufeff/, "").split(/\r\n|\r|\n/, 1)[0];
    return line.split(/[,;\t]/).map((name) => name.trim().replace(/^"|"$/g, ""));
  };
  const isComplete = () => brand?.value && (kind === "ranges" || (kind === "list" && product.value));

  file.addEventListener("change", async () => {
    kind = "";
    message.textContent = "";
    if (!file.files.length) return;
    const header = (await headerOf(file.files[0])).join();
    kind = Object.keys(columns).find((name) => [columns[name].join(), [...columns[name], "error"].join()].includes(header)) || "other";
    message.textContent = guide.dataset[kind];
    if (!isComplete()) return;
    message.textContent += ` ${guide.dataset.checking}`;
    file.form.requestSubmit();
  });

  file.form.addEventListener("submit", (event) => {
    if (kind === "ranges" || kind === "other" || !kind || product.value) return;
    event.preventDefault();
    message.setAttribute("role", "alert");
    message.classList.add("text-red-700", "dark:text-red-400");
    message.textContent = guide.dataset.list;
    message.scrollIntoView({ block: "center" });
  });
});

const say = (form, text) => {
  const message = document.createElement("p");
  message.setAttribute("role", "status");
  message.textContent = text;
  form.append(message);
};
