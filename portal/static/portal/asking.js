// Asking the server while somebody types: after a pause, so that a word is asked for once, and only the last answer counts.

// Digits as the page writes them.
export const LOCALE = `${document.documentElement.lang}-u-nu-latn`;

// `act`, once nobody has called it again for `pause` milliseconds. `stop` forgets a call that waits.
export const later = (act, pause) => {
  let waiting = 0;
  const call = (...values) => {
    clearTimeout(waiting);
    waiting = setTimeout(act, pause, ...values);
  };
  return Object.assign(call, { stop: () => clearTimeout(waiting) });
};

// `ask` with a signal that ends its request as soon as somebody asks again or stops it. What goes wrong with the last
// request is for `failed`.
export const latest = (ask, failed = () => {}) => {
  let request = new AbortController();
  const stop = () => request.abort();
  const call = async (...values) => {
    stop();
    const { signal } = (request = new AbortController());
    try {
      return await ask(signal, ...values);
    } catch (error) {
      if (!signal.aborted) failed(error);
    }
  };
  return Object.assign(call, { stop });
};

// The JSON that answers a form as it is filled in, or null where the server does not take it.
export const posted = async (address, data, signal) => {
  const answer = await fetch(address, { method: "POST", body: data, redirect: "error", signal });
  return answer.ok ? answer.json() : null;
};
