// Tones made here: rising for a reward to hand over, low for one to keep. A device remembers that they are off.
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
  } catch { /* a browser that keeps nothing: until the page is loaded again */ }
}

/** Browsers let a page sound only after somebody has touched it. */
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
