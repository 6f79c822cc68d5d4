// Requests while somebody types: sent after a pause, so that a word is asked for once, and only the last answer counts.

// `act`, once nobody has called it again for `pause` milliseconds. `stop` drops a call that waits.
export const debounce = (act, pause) => {
  let timer = 0;
  const call = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(act, pause, ...values);
  };
  return Object.assign(call, { stop: () => clearTimeout(timer) });
};

// `send` with a signal that aborts its request as soon as it is called again or stopped. An error of the last request
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

// An address with what a form holds, except its token and the fields in `omitted`.
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

// The JSON that answers a form as it is filled in, or null where the server rejects it.
export const postForm = async (address, data, signal) => {
  const answer = await fetch(address, { method: "POST", body: data, redirect: "error", signal });
  return answer.ok ? answer.json() : null;
};
