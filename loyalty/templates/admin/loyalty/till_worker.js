{% load static %}// Opens the till without a connection. Everything comes from the network as long as that answers.
// The pages that it stores are in {{ language }}: in another language this is another script with a new store.
const HERE = "{{ here|escapejs }}", EMPTY = "{{ empty|escapejs }}", CACHE = "till", PATIENCE_MS = 4_000;
const FILES = ["{% static "loyalty/till/till.css" %}", "{% static "loyalty/till/till.js" %}", "{% static "loyalty/till/sounds.js" %}", "{% static "loyalty/till/codes.js" %}", "{{ assets }}/camera.js", "{{ assets }}/fill.js", EMPTY];
const isStored = (path) => FILES.includes(path) || path.startsWith("{{ assets }}/vendor/");

async function store(path, response) {
  if (response.ok && !response.redirected) await (await caches.open(CACHE)).put(path, response.clone());
  return response;
}

self.addEventListener("install", (event) => {
  event.waitUntil((async () => {
    await caches.delete(CACHE);
    await Promise.all(FILES.map(async (path) => store(path, await fetch(path, { credentials: "same-origin", cache: "no-cache" }))));
    await self.skipWaiting();
  })());
});

self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

async function soon(request) {
  return Promise.race([fetch(request), new Promise((_, give_up) => setTimeout(() => give_up(new Error("late")), PATIENCE_MS))]);
}

self.addEventListener("fetch", (event) => {
  const { request } = event, address = new URL(request.url);
  if (request.method !== "GET" || address.origin !== location.origin) return;
  if (request.mode === "navigate" && address.pathname === HERE)
    event.respondWith(soon(request).catch(async () => (await caches.match(EMPTY)) || Response.error()));
  else if (request.mode !== "navigate" && isStored(address.pathname))
    event.respondWith(soon(request).then((response) => store(address.pathname, response)).catch(async () => (await caches.match(address.pathname)) || Response.error()));
});
