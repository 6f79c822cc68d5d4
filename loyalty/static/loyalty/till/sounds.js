// Generates tones: rising for a reward to hand over, low for one to keep. Switching them off is stored on the device.
const MUTED = "till muted";
const TONES = { good: [[880, 0], [1320, 0.12]], done: [[1320, 0]], bad: [[220, 0], [165, 0.22]] };
let audio;

export function isMuted() {
  try { return Boolean(localStorage.getItem(MUTED)); } catch { return false; }
}

export function mute(on) {
  try {
    if (on) localStorage.setItem(MUTED, "1");
    else localStorage.removeItem(MUTED);
  } catch { /* without storage the choice lasts until the page is reloaded */ }
}

/** Browsers allow sound only after the user has interacted with the page. */
export function unlock() {
  audio ||= window.AudioContext && new AudioContext();
  if (audio?.state === "suspended") audio.resume().catch(() => {});
}

export function play(name) {
  if (isMuted() || !TONES[name]) return;
  unlock();
  if (!audio) return;
  for (const [frequency, after] of TONES[name]) {
    const tone = audio.createOscillator(), volume = audio.createGain(), start = audio.currentTime + after;
    tone.type = name === "bad" ? "square" : "sine";
    tone.frequency.value = frequency;
    volume.gain.setValueAtTime(0.2, start);
    volume.gain.exponentialRampToValueAtTime(0.001, start + 0.2);
    tone.connect(volume).connect(audio.destination);
    tone.start(start);
    tone.stop(start + 0.22);
  }
}
