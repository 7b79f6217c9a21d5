/**
 * The gateway as it is deployed, with a provider in the same Worker that streams its answer. `POST /bench` makes it
 * answer the described request so many times. The path says how many bytes the provider writes at once: `/120` writes
 * each event for itself.
 */

import { createGateway } from "../../src/gateway.ts";

export * from "../../src/worker.ts";

const EVENT = `data: ${JSON.stringify({ id: "chatcmpl-9nK2", choices: [{ index: 0, delta: { content: " and so on" }, finish_reason: null }] })}\n\n`;
const USAGE = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 7 } })}\n\n`;
const encoder = new TextEncoder();

/** 1 MiB of events. @param bytes of each chunk, about. */
function chunksOf(bytes) {
  const chunk = encoder.encode(EVENT.repeat(Math.ceil(bytes / EVENT.length)));
  return [...Array(Math.ceil(2 ** 20 / chunk.length)).fill(chunk), encoder.encode(`${USAGE}data: [DONE]\n\n`)];
}

const ORIGIN = {
  async fetch(request) {
    await request.arrayBuffer();
    // Bytes come as from a network: from a stream of the runtime, and a read gets what was written at once.
    const { readable, writable } = new IdentityTransformStream();
    const writer = writable.getWriter();
    const write = async () => {
      for (const chunk of chunksOf(Number(new URL(request.url).pathname.split("/")[1]))) await writer.write(chunk);
      await writer.close();
    };
    write().catch(() => {});
    return new Response(readable, { headers: { "Content-Type": "text/event-stream" } });
  },
};
let gateway;

export default {
  async fetch(request, env, ctx) {
    gateway ??= createGateway({ ...env, ORIGIN });
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
