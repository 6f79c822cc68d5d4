// Keeps the page usable without a connection: stores its files, and the page without a code. Never an answer of the API.
// The server writes VERSION and ASSETS before this line.
const SHELL = "/s/", PATIENCE_MS = 5_000;
const FILES = ["page.js", "page.css", "api.js", "fill.js", "scan.js", "account.js", "camera.js", "offline_queue.js"].map((name) => `/page/assets/${ASSETS}/${name}`);
const isPage = (path) => path.startsWith("/s/") || path.startsWith("/01/");
const isFile = (path) => path.startsWith("/page/assets/") || path === "/page/brand.css" || path.startsWith("/page/icon-") || path.startsWith("/pictures/");

// During a deployment a host may have another version: it answers with its own file and forbids storing it.
const isImmutable = (response) => response.ok && /immutable/.test(response.headers.get("Cache-Control") || "");

async function storeFiles(cache, addresses) {
  await Promise.all([...addresses].map(async (address) => {
    const response = await fetch(address);
    if (!isImmutable(response)) throw new Error(`not the file of this version: ${address}`);
    await cache.put(address, response);
  }));
}

// Also the files that the page links, and no script loads: the brand's colours and icon.
async function storeShell(cache) {
  const response = await fetch(SHELL, { credentials: "same-origin", cache: "no-store" });
  if (!response.ok || response.redirected) return;
  const text = await response.clone().text();
  if (!text.includes(`/page/assets/${ASSETS}/`)) throw new Error("the page of another version");
  await storeFiles(cache, new Set(text.match(/\/page\/(brand\.css|icon-32\.png)\?v=\w+/g)));
  await cache.put(SHELL, response);
}

self.addEventListener("install", (event) => {
  event.waitUntil((async () => {
    const cache = await caches.open(VERSION);
    await storeFiles(cache, FILES);
    await storeShell(cache);
    await self.skipWaiting();
  })());
});

self.addEventListener("activate", (event) => {
  event.waitUntil((async () => {
    for (const name of await caches.keys()) if (name !== VERSION) await caches.delete(name);
    await self.clients.claim();
  })());
});

/** The page without a code; for a typed code a redirect to its page, as from the server. */
async function storedPage(address) {
  const typed = address.pathname === SHELL && address.searchParams.get("typed")?.replace(/\s/g, "");
  if (typed) return Response.redirect(`${SHELL}${encodeURIComponent(typed)}?by=hand`);
  return (await caches.match(SHELL)) || Response.error();
}

async function page(request, event) {
  try {
    const response = await Promise.race([fetch(request), new Promise((_, reject) => setTimeout(reject, PATIENCE_MS))]);
    if (response.ok) event.waitUntil(caches.open(VERSION).then(storeShell).catch(() => {})); // in the current language
    return response;
  } catch {
    return storedPage(new URL(request.url));
  }
}

async function file(request) {
  const stored = await caches.match(request);
  if (stored) return stored;
  const response = await fetch(request);
  if (isImmutable(response)) await (await caches.open(VERSION)).put(request, response.clone());
  return response;
}

self.addEventListener("fetch", (event) => {
  const { request } = event, address = new URL(request.url);
  if (request.method !== "GET" || address.origin !== location.origin) return;
  if (request.mode === "navigate" && isPage(address.pathname)) event.respondWith(page(request, event));
  else if (isFile(address.pathname)) event.respondWith(file(request));
});
