// The till's camera: reads a customer's code and looks it up. The module that reads is the scan page's.
const part = (id) => document.getElementById(id);
const offer = part("till-camera");

async function scan() {
  part("till-no-camera").hidden = true;
  try {
    const { read } = await import(offer.dataset.module);
    const text = await read(part("till-picture"), part("till-camera-off").querySelector("button"));
    if (!text) return;
    const form = part("till-lookup");
    form.elements.code.value = text.trim().slice(0, 100);
    form.submit();
  } catch {
    part("till-no-camera").hidden = false;
    part("till-lookup").elements.code.focus();
  }
}

if (navigator.mediaDevices?.getUserMedia) {
  offer.hidden = false;
  offer.querySelector("button").addEventListener("click", scan);
}
