// Says as soon as a file is chosen what its header makes of it, and keeps the file until a list has its product.
addEventListener("DOMContentLoaded", () => {
  const guide = document.querySelector("[data-import-columns]");
  const file = document.querySelector("input[type=file][name=file]");
  const product = document.querySelector("[name=product]");
  if (!guide || !file || !product) return;

  const columns = JSON.parse(guide.dataset.importColumns);
  const words = document.createElement("p");
  words.setAttribute("role", "status");
  words.className = "mt-2 mx-3 text-sm";
  file.closest("div").after(words);
  let kind = "";

  const headerOf = async (chosen) => {
    const text = await chosen.slice(0, 4096).text();
    const line = text.replace(/^\ufeff/, "").split(/\r\n|\r|\n/, 1)[0];
    return line.split(/[,;\t]/).map((name) => name.trim().replace(/^"|"$/g, ""));
  };

  file.addEventListener("change", async () => {
    kind = "";
    words.textContent = "";
    if (!file.files.length) return;
    const found = (await headerOf(file.files[0])).join();
    kind = Object.keys(columns).find((name) => [columns[name].join(), [...columns[name], "error"].join()].includes(found)) || "other";
    words.textContent = guide.dataset[kind];
  });

  file.form.addEventListener("submit", (event) => {
    if (kind === "ranges" || kind === "other" || !kind || product.value) return;
    event.preventDefault();
    words.setAttribute("role", "alert");
    words.classList.add("text-red-700", "dark:text-red-400");
    words.textContent = guide.dataset.list;
    words.scrollIntoView({ block: "center" });
  });
});
