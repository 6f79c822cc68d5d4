// Passes the form's JSON options to a passkey, and sends the passkey's answer with the form (WebAuthn Level 2).
"use strict";
const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (it) => it.charCodeAt(0));
const base64url = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

function question(publicKey) {
  const options = { ...publicKey, challenge: bytes(publicKey.challenge) };
  if (publicKey.user) options.user = { ...publicKey.user, id: bytes(publicKey.user.id) };
  for (const name of ["excludeCredentials", "allowCredentials"]) {
    if (publicKey[name]) options[name] = publicKey[name].map((each) => ({ ...each, id: bytes(each.id) }));
  }
  return { publicKey: options };
}

function answer(credential) {
  const response = {};
  for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (credential.response[name]) response[name] = base64url(credential.response[name]);
  }
  return JSON.stringify({
    id: credential.id,
    rawId: base64url(credential.rawId),
    type: credential.type,
    response,
    clientExtensionResults: credential.getClientExtensionResults(),
  });
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  const complaint = form.querySelector("[data-passkey-error]");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    complaint.hidden = true;
    try {
      const options = question(JSON.parse(form.dataset.question).publicKey);
      const credential = await navigator.credentials[form.dataset.passkey](options);
      form.elements.credential.value = answer(credential);
      form.submit();
    } catch {
      complaint.textContent = form.dataset.failed;
      complaint.hidden = false;
    }
  });
}
