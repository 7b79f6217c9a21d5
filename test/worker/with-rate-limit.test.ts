// What withRateLimit leaves unchanged, and what it adds.

import { createExecutionContext } from "cloudflare:test";
import { expect, it } from "vitest";
import { createLimiter, type Limiter, memoryStore, type PolicyInput, withRateLimit } from "../../src/index.ts";
import { fieldsOf } from "../support/cases/fields.ts";

const policy = (name: string, limit: number): PolicyInput => ({
  name,
  key: "global",
  limits: [{ limit, window: "1h" }],
});
const limiterOf = (...policies: PolicyInput[]): Limiter => createLimiter({ policies, store: memoryStore() });

type Incoming = Request<unknown, IncomingRequestCfProperties<unknown>>;
const request = (init?: RequestInit, path = "/") =>
  new Request(`https://gate.example${path}`, init as never) as Incoming;
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
  const wrapped = withRateLimit<{ NAME: string }>(app, limiterOf(policy("two", 2)));
  const env = { NAME: "ann" };
  const answer = await wrapped.fetch(request(), env, ctx);
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
