/** Receives webhooks: verifies who sent a message, and gives it its type. */
import { Webhook } from "standardwebhooks";

import type { webhooks } from "./api.js";

export { WebhookVerificationError } from "standardwebhooks";

type Body<Hook> = Hook extends { post: { requestBody?: { content: { "application/json": infer Message } } } } ? Message : never;

/** What the service sends; `type` tells which, and so what `data` holds. */
export type WebhookMessage = { [Type in keyof webhooks]: Body<webhooks[Type]> }[keyof webhooks];

/**
 * The message of a call, verified with the webhook's secret (`whsec_...`).
 *
 * `body` is the request's body as it came, before any parsing. Throws WebhookVerificationError if the signature is not the
 * service's or is older than five minutes. The same message may come twice: keep the `webhook-id` of what you have handled.
 */
export function receive(secret: string, body: string | Buffer, headers: Record<string, string | string[] | undefined>): WebhookMessage {
  const sent = Object.fromEntries(Object.entries(headers).filter((header): header is [string, string] => typeof header[1] === "string"));
  return new Webhook(secret).verify(body, sent) as WebhookMessage;
}
