// What withRateLimit leaves unchanged, and what it adds.

import { createExecutionContext } from "cloudflare:test";
import { expect, it, vi } from "vitest";
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

it("a limiter of env that cannot be made lets nothing through", async () => {
  const handler = vi.fn(() => new Response("ok"));
  const wrapped = withRateLimit<object>(handler, () => limiterOf({ name: "BAD", limits: [] } as never));
  const env = {};
  for (let i = 0; i < 2; i++) await expect(wrapped.fetch(request(), env, ctx)).rejects.toThrow("ERR_POLICY_NAME");
  expect(handler).not.toHaveBeenCalled();
});

it.each([
  ["a name", "eu", "eu"],
  ["names by code", { colo: { FRA: "frankfurt" } }, "frankfurt"],
  ["a function", (one: Request) => one.headers.get("X-Region") ?? "", "asked"],
  ["none: the limiter's", undefined, "own"],
])("region: %s", async (_what, region, name) => {
  const regions: string[] = [];
  const limiter = createLimiter({
    policies: [policy("one", 1)],
    store: memoryStore(),
    region: "own",
    onDecision: (_decision, context) => regions.push(context.region),
  });
  const wrapped = withRateLimit(() => new Response("ok"), limiter, { ...(region && { region }) });
  const init = { headers: { "X-Region": "asked" }, cf: { colo: "FRA", continent: "EU" } };
  await wrapped.fetch(request(init as RequestInit), undefined, ctx);
  expect(regions).toEqual([name]);
});
