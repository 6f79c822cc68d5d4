// Reads codes with the camera: with the browser's own decoder, else with zxing-wasm, which is loaded only then.
import { message } from "./fill.js";

const VENDOR = "./vendor/zxing-wasm-3.1.4/";
const EVERY_MS = 150;

async function decoder() {
  if ("BarcodeDetector" in window && (await window.BarcodeDetector.getSupportedFormats()).includes("qr_code")) {
    const native = new window.BarcodeDetector({ formats: ["qr_code"] });
    return async (video) => (await native.detect(video))[0]?.rawValue;
  }
  const zxing = await import(`${VENDOR}reader/index.js`);
  const wasm = new URL(`${VENDOR}zxing_reader.wasm`, import.meta.url).href;
  await zxing.prepareZXingModule({ overrides: { locateFile: () => wasm }, fireImmediately: true });
  const canvas = document.createElement("canvas"), context = canvas.getContext("2d", { willReadFrequently: true });
  return async (video) => {
    const shrink = Math.min(1, 800 / Math.max(video.videoWidth, video.videoHeight));
    canvas.width = video.videoWidth * shrink;
    canvas.height = video.videoHeight * shrink;
    context.drawImage(video, 0, 0, canvas.width, canvas.height);
    const symbols = await zxing.readBarcodes(context.getImageData(0, 0, canvas.width, canvas.height), { formats: ["QRCode", "DataMatrix"], maxNumberOfSymbols: 1 });
    return symbols[0]?.text;
  };
}

/** The address for a scanned text, always on this page: one of our addresses keeps its path, any other text is a code. */
export function wayOf(text) {
  const address = text.match(/^https?:\/\/[^/]+\/(s\/[^?#]+|01\/\d{8,14}\/21\/[^?#]+)/i);
  return address ? `/${address[1]}` : `/s/${encodeURIComponent(text.trim().slice(0, 500))}`;
}

/** Shows the camera in `place` and calls `onText` with each text that it reads, until `isOver` returns true. */
export async function watch(place, onText, isOver) {
  const video = place.querySelector("video"), status = place.querySelector("[role=status]");
  place.hidden = false;
  let stream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" }, audio: false });
    video.srcObject = stream;
    await video.play();
    status.textContent = message("looking");
    const decode = await decoder();
    while (!isOver()) {
      const text = video.videoWidth && (await decode(video));
      if (text) onText(text);
      await new Promise((done) => setTimeout(done, EVERY_MS));
    }
  } finally {
    for (const track of stream?.getTracks() || []) track.stop();
    video.srcObject = null;
    place.hidden = true;
  }
}

/** Shows the camera in `place` until a code is read or `stop` is pressed; returns the text, if any. */
export async function read(place, stop) {
  let text, running = true;
  stop.onclick = () => { running = false; };
  await watch(place, (each) => { text ||= each; }, () => text || !running);
  return text;
}
