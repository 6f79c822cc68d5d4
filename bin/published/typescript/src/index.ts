/** The typed client of the loyalty API: each path, parameter, body and answer as the API's description has it. */
import createClient, { type Client } from "openapi-fetch";

import type { components, paths } from "./api.js";

export type { components, operations, paths } from "./api.js";
export { receive, WebhookVerificationError, type WebhookMessage } from "./webhooks.js";

/** Every error's body. */
export type ApiError = components["schemas"]["ErrorAnswer"];
export type LoyaltyClient = Client<paths>;

export interface Credentials {
  /** Where the service is, such as `https://loyalty.example.com`. */
  baseUrl: string;
  /** A customer's access token, or a function that gives the current one. */
  token?: string | (() => string);
  /** An app's or a hub's key. A hub key is secret: never send it to a browser. */
  apiKey?: string;
  /** The languages of messages, such as `de`. */
  language?: string;
}

/** A client with these credentials. Calls resolve to `{ data, error, response }`; only a broken connection rejects. */
export function loyaltyClient({ baseUrl, token, apiKey, language }: Credentials): LoyaltyClient {
  const client = createClient<paths>({ baseUrl });
  client.use({
    onRequest({ request }) {
      if (token) request.headers.set("Authorization", `Bearer ${typeof token === "string" ? token : token()}`);
      if (apiKey) request.headers.set("api-key", apiKey);
      if (language) request.headers.set("Accept-Language", language);
    },
  });
  return client;
}
