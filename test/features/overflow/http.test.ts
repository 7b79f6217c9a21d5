// Overflows over HTTP, with the counts in memory: whose key counts, what a handler sees, and what is settled with whom.

import { beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore, withRateLimit } from "../../../src/index.ts";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { createLimiter } from "../../support/limiter.ts";
import { meteredHandler } from "../../support/llm/metered-handler.ts";
import { EXPRESS } from "../../support/ways/express-way.ts";
import { FETCH_WAYS } from "../../support/ways/fetch-ways.ts";

// No window ends in the middle of a test.
beforeEach(() => void vi.useFakeTimers({ now: 1_700_000_040_000, toFake: ["Date"] }));

const limits = (limit: number) => [{ algorithm: "fixed-window", limit, window: "1d" }] as const;
const plan: PolicyInput = {
  name: "plan",
  match: { path: "/v1/*" },
  key: ["header:x-user"],
  limits: limits(1),
  overflow: "team",
};
const team: PolicyInput = { name: "team", key: ["header:x-team"], limits: limits(2) };
const of = (user: string, more: HeadersInit = {}) => ({ headers: { "x-user": user, "x-team": "acme", ...more } });
const FIELD = "Headgate-Paid-By";

/** What a handler sees, and what its client gets. */
interface Seen {
  readonly status: number;
  readonly paidBy: string | null;
  readonly shown: string | undefined;
}

const shownIn = (headers: Headers) => /^"([\w-]+)"/.exec(headers.get("RateLimit") ?? "")?.[1];

const requestOf = (path: string, init: RequestInit) => new Request(`https://gate.example${path}`, init);

describe.each([...FETCH_WAYS, EXPRESS].map((way) => [way.name, way] as const))("%s", (_, { make, without }) => {
  const handler = (request: Request) => new Response(request.headers.get(FIELD));

  it("lets the team pay when the plan is spent, tells the handler, and shows the payer's limits", async () => {
    const send = await make({ policies: [plan, team], handler });
    const seen: Seen[] = [];
    for (const user of ["ann", "ann", "bob", "ann", "ann"]) {
      const answer = await send("/v1/items", of(user, { [FIELD]: "forged" }));
      const paidBy = answer.ok ? await answer.text() : null;
      seen.push({ status: answer.status, paidBy, shown: shownIn(answer.headers) });
    }
    expect(seen).toEqual([
      { status: 200, paidBy: "plan", shown: "plan" },
      { status: 200, paidBy: "team", shown: "team" },
      { status: 200, paidBy: "plan", shown: "plan" },
      { status: 200, paidBy: "team", shown: "team" },
      { status: 429, paidBy: null, shown: "plan" },
    ]);
  });

  it("removes a client's own field where no policy applies, and where the program skips the limiter", async () => {
    const options = without?.options ? undefined : { skip: ({ path }: { path: string }) => path === "/v1/skipped" };
    const send = await make({ policies: [plan, team], handler, options });
    for (const path of options ? ["/other", "/v1/skipped"] : ["/other"]) {
      const answer = await send(path, of("ann", { [FIELD]: "forged" }));
      expect([path, answer.status, await answer.text()]).toEqual([path, 200, ""]);
    }
  });
});

describe("a program's own rules", () => {
  it("name the client of the policy that matches, and not that of its overflow", async () => {
    const handler = meteredHandler((request) => new Response(request.headers.get(FIELD)), [plan, team], {
      key: (request) => request.headers.get("x-own") ?? undefined,
    });
    const payers = [];
    for (const [own, acme] of [
      ["a", "x"],
      ["a", "x"],
      ["b", "x"],
      ["b", "x"],
      ["b", "x"],
      ["b", "y"],
    ] as const) {
      const answer = await handler.send(requestOf("/v1/items", { headers: { "x-own": own, "x-team": acme } }));
      payers.push(answer.ok ? await answer.text() : answer.status);
    }
    expect(payers).toEqual(["plan", "team", "plan", "team", 429, "team"]);
  });
});

it("of two limiters around one handler both say who paid", async () => {
  const limiter = (...policies: PolicyInput[]) => createLimiter({ policies, store: memoryStore() });
  const clientIp = { header: "cf-connecting-ip" };
  const inner = withRateLimit((request: Request) => new Response(request.headers.get(FIELD)), limiter(plan, team), {
    clientIp,
  });
  const outer = withRateLimit(inner, limiter({ ...plan, name: "day", overflow: "pool" }, { ...team, name: "pool" }), {
    clientIp,
  });
  const fetch = outer.fetch as unknown as (request: Request) => Promise<Response>;
  const answer = await fetch(requestOf("/v1/items", of("ann", { [FIELD]: "forged" })));
  expect(await answer.text()).toBe("day, plan");
});

const usd = { unit: "usd", maxOutput: 1_000 } as const;
const prices = { default: { input: 10, output: 100 } };
const teamPrices = { default: { input: 1, output: 10 } };
const usage = (input: number, output: number) => ({
  usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
});

describe("beside a meter", () => {
  /** Plan, a team that pays a tenth of the price, and credits, in dollars. */
  const chain = (dollars: readonly [number, number, number]): PolicyInput[] => [
    {
      ...{ name: "plan", key: ["header:x-user"], meter: { ...usd, prices }, limits: limits(dollars[0]) },
      ...{ overflow: "team", refusal: { status: 402 } },
    },
    {
      name: "team",
      key: ["header:x-team"],
      meter: { ...usd, prices: teamPrices },
      limits: limits(dollars[1]),
      overflow: "credits",
    },
    { name: "credits", key: ["header:x-team"], meter: { ...usd, prices }, limits: limits(dollars[2]) },
  ];
  const UNITS = 100_000; // a dollar

  function chatting(policies: readonly PolicyInput[], answer: object = usage(1_000, 500)) {
    const seen: { paidBy: string | null; text: string }[] = [];
    const store = memoryStore();
    const handler = meteredHandler(
      async (request) => {
        seen.push({ paidBy: request.headers.get(FIELD), text: await request.text() });
        return Response.json(answer);
      },
      policies,
      { store },
    );
    /** Each policy by itself. */
    const alone = createLimiter({ policies: policies.map(({ overflow: _, refusal: __, ...one }) => one), store });
    const used = async (policy: string, limit: number) => {
      const [kind, key] = policy === "plan" ? ["header:x-user", "ann"] : ["header:x-team", "acme"];
      return limit - (await alone.peek(policy, { kind: kind!, key: key!, cost: 0 })).remaining!;
    };
    const chat = async (body: object | string = {}, more: HeadersInit = {}) => {
      const text = typeof body === "string" ? body : JSON.stringify({ model: "gpt-5", max_tokens: 500, ...body });
      const response = await handler.chat(text, of("ann", { "Content-Type": "application/json", ...more }));
      await response.arrayBuffer();
      await handler.done();
      return response;
    };
    return { seen, chat, used };
  }

  it("each is charged exactly what its answers used, at its own prices", async () => {
    // An answer costs 0.06 dollars, and the team 0.006. The estimates are 0.05 and 0.005 dollars, and a little.
    const { seen, chat, used } = chatting(chain([0.12, 0.012, 0.12]));
    const statuses = [];
    for (let i = 0; i < 7; i++) statuses.push((await chat({ i })).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 402]);
    const payers = ["plan", "plan", "team", "team", "credits", "credits"];
    expect(seen).toEqual(payers.map((paidBy, i) => ({ paidBy, text: `{"model":"gpt-5","max_tokens":500,"i":${i}}` })));
    const unit = (dollars: number) => Math.round(dollars * UNITS);
    const limits = { plan: unit(0.12), team: unit(0.012), credits: unit(0.12) };
    for (const [policy, limit] of Object.entries(limits)) expect(await used(policy, limit)).toBe(limit);
  });
});
