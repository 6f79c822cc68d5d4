import { createServer } from "node:http";
import { receive, WebhookVerificationError } from "loyalty-client";

const server = createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  try {
    const message = receive(process.argv[2]!, body, request.headers);
    if (message.type === "points.earned") message.data.points_earned.toFixed(); // the type tells what is in the data
    response.writeHead(200).end(JSON.stringify(message));
  } catch (error) {
    response.writeHead(error instanceof WebhookVerificationError ? 401 : 500).end();
  }
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as { port: number }).port));
