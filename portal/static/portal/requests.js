// Requests while the user types: sent after a pause, so that a word is requested once, and only the last answer counts.

// Calls `act` once there has been no other call for `pause` milliseconds. `stop` drops a waiting call.
export const debounce = (act, pause) => {
  let timer = 0;
  const call = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(act, pause, ...values);
  };
  return Object.assign(call, { stop: () => clearTimeout(timer) });
};

// Calls `send` with a signal that aborts its request when it is called again or stopped. An error of the last request
// goes to `failed`.
export const latestOnly = (send, failed = () => {}) => {
  let controller = new AbortController();
  const stop = () => controller.abort();
  const call = async (...values) => {
    stop();
    const { signal } = (controller = new AbortController());
    try {
      return await send(signal, ...values);
    } catch (error) {
      if (!signal.aborted) failed(error);
    }
  };
  return Object.assign(call, { stop });
};

// An address with a form's values, except its token and the fields in `omitted`.
export const addressWith = (address, form, omitted = []) => {
  const result = new URL(address, window.location.href);
  for (const [name, value] of new FormData(form)) {
    if (name !== "csrfmiddlewaretoken" && !omitted.includes(name)) result.searchParams.append(name, value);
  }
  return result;
};

// The HTML at an address.
export const getHtml = async (address, signal) => {
  const answer = await fetch(address, { redirect: "error", signal });
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.text();
};

// The JSON answer to a form's current values, or null if the server rejects them.
export const postForm = async (address, data, signal) => {
  const answer = await fetch(address, { method: "POST", body: data, redirect: "error", signal });
  return answer.ok ? answer.json() : null;
};
