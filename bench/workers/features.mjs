/**
 * The gateway as it is deployed, with an origin in the same Worker. `POST /bench` makes it answer the described request
 * so many times, one after the other, without a socket.
 */

import { createGateway } from "../../src/gateway.ts";

export * from "../../src/worker.ts";

const COMPLETION = {
  choices: [{ message: { role: "assistant", content: "four words to read. ".repeat(50) } }],
  usage: { prompt_tokens: 250, completion_tokens: 250, total_tokens: 500 },
};
const ORIGIN = {
  async fetch(request) {
    if (request.method !== "POST") return new Response("ok");
    await request.arrayBuffer();
    return Response.json(COMPLETION);
  },
};
let gateway;

export default {
  async fetch(request, env, ctx) {
    gateway ??= createGateway({ ...env, ORIGIN });
    if (new URL(request.url).pathname !== "/bench") return await gateway.fetch(request, {}, ctx);
    const { times, path, ...init } = await request.json();
    const statuses = {};
    for (let i = 0; i < times; i++) {
      const answer = await gateway.fetch(new Request(`https://api.example${path}`, init), {}, ctx);
      await answer.arrayBuffer();
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
    }
    return Response.json(statuses);
  },
};
