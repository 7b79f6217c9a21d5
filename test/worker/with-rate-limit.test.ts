// What withRateLimit leaves unchanged of a whole Worker.

import { createExecutionContext } from "cloudflare:test";
import { expect, it } from "vitest";
import { createLimiter, memoryStore, withRateLimit } from "../../src/index.ts";
import { fieldsOf } from "../support/cases/fields.ts";

type Incoming = Request<unknown, IncomingRequestCfProperties<unknown>>;
const ctx = createExecutionContext();

/** A Worker that needs its own `this`, also for a private field. */
class App implements ExportedHandler<{ NAME: string }> {
  readonly #greeting = "hello";
  readonly ran: unknown[][] = [];

  async fetch(_request: Request, env: { NAME: string }, context: ExecutionContext) {
    this.ran.push(["fetch", env, context]);
    return new Response(`${this.#greeting} ${env.NAME}`);
  }

  async scheduled(...args: unknown[]) {
    this.ran.push([this.#greeting, ...args]);
  }

  async queue(...args: unknown[]) {
    this.ran.push([this.#greeting, ...args]);
  }
}

it("a whole Worker keeps this, env and ctx, and its other handlers", async () => {
  const app = new App();
  const policies = [{ name: "two", key: "global", limits: [{ limit: 2, window: "1h" }] }] as const;
  const wrapped = withRateLimit<{ NAME: string }>(app, createLimiter({ policies, store: memoryStore() }));
  const env = { NAME: "ann" };
  const answer = await wrapped.fetch(new Request("https://gate.example/") as Incoming, env, ctx);
  expect(await answer.text()).toBe("hello ann");
  expect(fieldsOf(answer).states).toMatchObject({ two: { r: 1 } });
  await wrapped.scheduled?.("controller" as never, env, ctx);
  await wrapped.queue?.("batch" as never, env, ctx);
  expect(app.ran).toEqual([
    ["fetch", env, ctx],
    ["hello", "controller", env, ctx],
    ["hello", "batch", env, ctx],
  ]);
  expect("email" in wrapped).toBe(false);
});
