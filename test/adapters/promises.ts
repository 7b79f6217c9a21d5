// What every way in promises, with any handler behind it: the table of ways-in.test.ts, here and in test/worker.

import { describe, expect, it, type TestContext, vi } from "vitest";
import type { PolicyInput } from "../../src/kernel/config/policy-input.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { costsOf, RPC_POLICIES, rpcCases } from "../support/cases/rpc-bodies.ts";
import type { Need, Setup, Way, WayOptions } from "../support/ways/way.ts";

const name = "api";
const one = (limit: number, more: Partial<PolicyInput> = {}) =>
  ({ name, key: "global", limits: [{ limit, window: "1h" }], ...more }) as PolicyInput;
const slot = one(1, { limits: [{ algorithm: "concurrency", limit: 1 }] });
const PAGE = "https://page.example";

export function describeWays(ways: readonly Way[]): void {
  describe.each(ways.map((way) => [way.name, way] as const))("%s", (_, way) => promisesOf(way));
}

function promisesOf({ make, without = {} }: Way): void {
  /** Skips a test with the reason why it is not this way's. */
  function needs({ skip }: TestContext, ...all: Need[]): void {
    for (const need of all) skip(need in without, without[need]);
  }

  /** Asks, and lists the requests that reached the handler. */
  async function start(policies: readonly PolicyInput[], setup: Partial<Setup> = {}) {
    for (const method of ["log", "error", "warn"] as const) vi.spyOn(console, method).mockImplementation(() => {});
    const handled: Request[] = [];
    const { handler = () => new Response("ok") } = setup;
    const send = await make({
      ...{ ...setup, policies },
      handler: (request) => {
        handled.push(request);
        return handler(request);
      },
    });
    return { handled, ask: async (init?: RequestInit, path?: string) => await send(path, init) };
  }

  it("refuses with a problem that nobody may store, and HEAD without a body", async () => {
    const { ask, handled } = await start([one(1)]);
    expect(fieldsOf(await ask()).states).toMatchObject({ [name]: { r: 0 } });
    const [get, head] = [await ask(), await ask({ method: "HEAD" })];
    for (const refused of [get, head]) {
      expect([refused.status, refused.headers.get("Cache-Control")]).toEqual([429, "no-store"]);
      expect(fieldsOf(refused)).toMatchObject({
        retryAfter: expect.any(Number),
        states: { [name]: { r: 0 } },
        legacy: { remaining: 0 },
      });
    }
    expect(await get.json()).toMatchObject({ status: 429, "violated-policies": [name] });
    expect(await head.text()).toBe("");
    expect(handled).toHaveLength(1);
  });

  it("counts preflights apart from other requests, by a count that no header shows, and as another OPTIONS with a body", async () => {
    const { ask, handled } = await start([one(2, { consistency: "leased" })]);
    const headers = { Origin: PAGE, "Access-Control-Request-Method": "PUT" };
    const preflights = [];
    for (let i = 0; i < 4; i++) preflights.push(await ask({ method: "OPTIONS", headers }));
    expect(preflights.map(({ status }) => status)).toEqual([200, 200, 429, 429]);
    expect(preflights.map(fieldsOf)).toEqual([{}, {}, ...[1, 2].map(() => ({ retryAfter: expect.any(Number) }))]);
    expect(fieldsOf(await ask({ method: "OPTIONS" })).states).toMatchObject({ [name]: { r: 1 } });
    expect(fieldsOf(await ask({ method: "OPTIONS", headers, body: "x" })).states).toMatchObject({ [name]: { r: 0 } });
    expect((await ask({ method: "OPTIONS" })).status).toBe(429);
    expect(handled).toHaveLength(4);
  });

  it("hands on what it has counted of a parameter that comes twice, with all that Cloudflare says", async () => {
    const { ask, handled } = await start([one(1, { key: "query:user" })]);
    const init = { cf: { colo: "FRA" }, method: "POST", body: "hello" } as RequestInit;
    expect((await ask(init, "/?user=ann&user=1")).status).toBe(200);
    expect((await ask(init, "/?user=ann&user=2")).status).toBe(429);
    const [request] = handled;
    // In Node a request has no `cf`.
    const { cf } = new Request("https://ways.example/", init);
    expect([request!.url, request!.method, request!.cf]).toEqual(["https://ways.example/?user=ann", "POST", cf]);
    expect(await request!.text()).toBe("hello");
  });

  it("counts by what a body says, asks only policies that match it, and hands it on", async () => {
    const paid = one(9, { name: "paid", match: { body: { "plan.name": "pro*" } } });
    const { ask, handled } = await start([one(1, { key: ["body:email"], fold: true }), paid], { readsBodies: true });
    const send = (body: object) =>
      ask({ method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    const answers = [];
    for (const email of ["ann@a.example", " Ann@A.example", "bob"]) {
      answers.push(await send({ email, plan: { name: email === "bob" ? "free" : "Pro" } }));
    }
    expect(answers.map(({ status }) => status)).toEqual([200, 429, 200]);
    expect(answers.map((answer) => Object.keys(fieldsOf(answer).states!))).toEqual([
      [name, "paid"],
      [name, "paid"],
      [name],
    ]);
    expect(await handled[1]!.json()).toEqual({ email: "bob", plan: { name: "free" } });
  });

  it("charges what a body of JSON-RPC calls, and hands it on byte for byte", async (context) => {
    needs(context, "the bytes of a body");
    const { ask } = await start(RPC_POLICIES, {
      handler: async (request) => new Response(await request.arrayBuffer()),
    });
    const left: Record<string, number> = {};
    for (const { what, body, headers, costs } of await rpcCases()) {
      const all = { "Content-Type": "application/json", ...headers };
      const answer = await ask({ method: "POST", headers: all, body }, "/mcp");
      const sent = typeof body === "string" ? new TextEncoder().encode(body) : body;
      const got = new Uint8Array(await answer.arrayBuffer());
      const isSame = got.length === sent.length && got.every((byte, i) => byte === sent[i]);
      const states = Object.entries(fieldsOf(answer).states!);
      const after = Object.fromEntries(states.map(([policy, { r }]) => [policy, r as number]));
      expect([what, isSame, costsOf(left, after)]).toEqual([what, true, costs]);
      Object.assign(left, after);
    }
  });

  it.each<[string, () => Response, number]>([
    ["of its own", () => new Response("own", { headers: { "X-Own": "1" } }), 200],
    ["with immutable headers, as fetched ones have", () => Response.redirect("https://example.com/", 302), 302],
    ["without a body", () => new Response(null, { status: 304 }), 304],
    ["of an error", () => new Response("sorry", { status: 500 }), 500],
  ])("adds its fields to an answer %s, and keeps what is there", async (_, answer, status) => {
    const { ask } = await start([one(9)], { handler: answer });
    const found = await ask({ redirect: "manual" });
    const own = ["X-Own", "Location"].map((field) => found.headers.get(field));
    expect([found.status, own]).toEqual([status, ["X-Own", "Location"].map((field) => answer().headers.get(field))]);
    expect(fieldsOf(found)).toMatchObject({ states: { [name]: { r: 8 } }, legacy: { limit: 9, remaining: 8 } });
  });

  it("shows the limits of a second one behind it too, the X- fields of the tighter one, which refuses", async (context) => {
    needs(context, "a second limiter");
    for (const [first, second] of [
      [9, 2],
      [2, 9],
    ] as const) {
      const { ask } = await start([{ ...one(first), name: "outer" }], { inner: [{ ...one(second), name: "inner" }] });
      const { policies, states, legacy } = fieldsOf(await ask());
      expect(policies).toEqual({ inner: { q: second, w: 3600 }, outer: { q: first, w: 3600 } });
      expect(states).toMatchObject({ inner: { r: second - 1 }, outer: { r: first - 1 } });
      expect(legacy).toMatchObject({ limit: 2, remaining: 1 });
      await ask();
      const refused = await ask();
      expect([refused.status, await refused.json()]).toMatchObject([
        429,
        { "violated-policies": [first < second ? "outer" : "inner"] },
      ]);
    }
  });

  it("never refuses by a policy in shadow, and never shows it", async () => {
    const shadow = { ...one(1), name: `${name}-tried`, mode: "shadow" } as const;
    const { ask } = await start([shadow, one(3)]);
    for (let i = 0; i < 3; i++) {
      const answer = await ask();
      expect(answer.status).toBe(200);
      expect(JSON.stringify([...answer.headers])).not.toContain("tried");
    }
    const refused = await ask();
    expect(refused.status).toBe(429);
    expect(JSON.stringify([...refused.headers, await refused.text()])).not.toContain("tried");
  });

  // test/features/count has the other ways to say which statuses count.
  it("counts only statuses that it names, by what the handler answers", async () => {
    const statuses = [404, 401, 304, 503, 200];
    let status = 200;
    const policy = one(2, { count: ["401", "5xx"] });
    const { ask } = await start([policy], { handler: () => new Response(null, { status }) });
    const found = [];
    for (status of statuses) {
      const answer = await ask();
      await answer.text();
      found.push(answer.status);
    }
    expect(found).toEqual([404, 401, 304, 503, 429]);
  });

  it("counts what answers state, shows it to nobody, and gives an error of the origin back", async () => {
    const costs = [["7"], ["90"], [], ["3", "4"]];
    const answers = [...costs.map((cost) => [200, cost] as const), [503, []] as const];
    const policy = one(200, {
      cost: { answer: "X-Cost", reserve: 10 },
      limits: [{ algorithm: "fixed-window", limit: 200, window: "1h" }],
    });
    const { ask } = await start([policy], {
      handler: () => {
        const [status, cost] = answers.shift() ?? [200, ["0"]];
        const answer = new Response("done", { status });
        for (const one of cost) answer.headers.append("X-Cost", one);
        return answer;
      },
    });
    const left = [];
    for (let i = 0; i < 6; i++) {
      const answer = await ask();
      await answer.text();
      expect(answer.headers.has("X-Cost")).toBe(false);
      left.push(fieldsOf(answer).states?.[name]?.r);
    }
    // Each answer shows what is left with its own reservation.
    expect(left).toEqual([190, 183, 93, 83, 73, 73]);
  });

  describe("of a leaky bucket", () => {
    const leaky = one(1, {
      limits: [{ algorithm: "leaky-bucket", limit: 1, window: "1m", burst: 1, maxDelay: "1m" }],
    });

    it("holds a request until its time", async (context) => {
      needs(context, "the clock of a test");
      vi.useFakeTimers();
      const { ask, handled } = await start([leaky]);
      const answers = [ask(), ask()];
      await vi.advanceTimersByTimeAsync(59_999);
      expect(handled).toHaveLength(1);
      // A timer may fire a millisecond early: the wait is a millisecond longer.
      await vi.advanceTimersByTimeAsync(2);
      expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200]);
      expect(handled).toHaveLength(2);
    });

    it("does not hand on a held request whose client has gone away", async (context) => {
      needs(context, "the clock of a test", "an answer to the gone");
      vi.useFakeTimers();
      const { ask, handled } = await start([leaky]);
      await ask();
      const client = new AbortController();
      const held = ask({ signal: client.signal });
      await vi.advanceTimersByTimeAsync(1_000);
      client.abort();
      expect((await held).status).toBe(499);
      expect(handled).toHaveLength(1);
    });
  });

  it("does not hand on a request whose client went away during the decision", async (context) => {
    needs(context, "an answer to the gone");
    const { ask, handled } = await start([one(5)]);
    const client = new AbortController();
    const answer = ask({ signal: client.signal });
    client.abort();
    expect((await answer).status).toBe(499);
    expect(handled).toHaveLength(0);
    expect(fieldsOf(await ask()).states).toMatchObject({ [name]: { r: 3 } });
  });

  describe("holds a slot", () => {
    it("until the body of the answer has ended", async () => {
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      const bodies: BodyInit[] = [readable];
      const { ask } = await start([slot], { handler: () => new Response(bodies.shift() ?? null) });
      const first = await ask();
      expect(fieldsOf(await ask())).toMatchObject({ retryAfter: 1, states: { [name]: { r: 0 } } });
      const read = first.text();
      await writable.close();
      await read;
      await expect.poll(async () => (await ask()).status).toBe(200);
    });

    it("until the handler has failed", async () => {
      const failing = () => {
        throw new Error("handler");
      };
      const { ask, handled } = await start([slot], { handler: failing });
      const askAndRead = async () => {
        const answer = await ask().catch(() => new Response(null, { status: 500 }));
        await answer.text();
        return answer.status;
      };
      for (let i = 1; i <= 3; i++) await expect.poll(askAndRead).toBeOneOf([500, 502]);
      expect(handled).toHaveLength(3);
    });

    it("until the work is done that goes on after the answer", async (context) => {
      needs(context, "background");
      const work: Promise<unknown>[] = [];
      const { ask } = await start([slot], { waitUntil: (each) => void work.push(each) });
      const first = await ask();
      expect((await ask()).status).toBe(429);
      await first.text();
      await Promise.all(work);
      expect((await ask()).status).toBe(200);
    });
  });

  it("while Redis is away answers 503 by `deny`, with a wait and without numbers, and does not hand the request on", async () => {
    const { ask, handled } = await start([one(5, { onStoreFailure: "deny" })], { isRedisAway: true });
    const answer = await ask();
    expect([answer.status, answer.headers.get("Cache-Control")]).toEqual([503, "no-store"]);
    expect(fieldsOf(answer)).toEqual({ retryAfter: 1 });
    expect(await answer.json()).toMatchObject({ status: 503, title: "Temporary Reduced Capacity" });
    expect(handled).toHaveLength(0);
  });

  describe("with options of a program", () => {
    /** As `start`, for the ways in that have such options. */
    async function startWith(context: TestContext, policies: readonly PolicyInput[], options: WayOptions) {
      needs(context, "options");
      return await start(policies, { options, handler: async (request) => new Response(await request.text()) });
    }
    const post = (body: object) => ({
      ...{ method: "POST", body: JSON.stringify(body) },
      headers: { "Content-Type": "application/json" },
    });

    it("counts for the program's key, and for the policy's if the program gives none", async (context) => {
      const { ask } = await startWith(context, [one(1)], { key: (seen) => seen.header("X-User") });
      const statuses: number[] = [];
      for (const user of ["ann", "ann", "bob", "", ""]) {
        statuses.push((await ask({ headers: { "X-User": user } })).status);
      }
      expect(statuses).toEqual([200, 429, 200, 200, 429]);
    });

    it("lets the cost read the body, which the handler reads again", async (context) => {
      const cost: WayOptions["cost"] = async (seen) => ((await seen.json()) as { n: number }).n;
      const { ask } = await startWith(context, [one(10)], { cost });
      const answer = await ask(post({ n: 3 }));
      expect(await answer.json()).toEqual({ n: 3 });
      expect(fieldsOf(answer).states).toMatchObject({ [name]: { r: 7 } });
    });

    it("charges nothing for a cost that is no number, which is an error", async (context) => {
      const costs = [Number.NaN, 4];
      const { ask, handled } = await startWith(context, [one(10)], { cost: async () => costs.shift()! });
      const failed = await ask().catch(() => new Response(null, { status: 500 }));
      expect([failed.status, handled.length]).toEqual([500, 0]);
      expect(fieldsOf(await ask()).states).toMatchObject({ [name]: { r: 6 } });
    });

    // A configuration refuses such a cost. Only code can ask for more than the limit ever admits.
    it("says of a cost that can never pass that trying again is of no use, also to another origin", async (context) => {
      const { ask } = await startWith(context, [one(5)], { cost: 6 });
      const refused = await ask({ headers: { Origin: PAGE } });
      expect([refused.status, refused.headers.get("X-Should-Retry")]).toEqual([429, "false"]);
      expect(refused.headers.has("Retry-After")).toBe(false);
      expect(refused.headers.get("Access-Control-Expose-Headers")).toContain("X-Should-Retry");
      expect(await refused.json()).toMatchObject({ retry: "never" });
    });

    it("holds the client's numbers: the program's, then those of its plan, then those of the policy's plan", async (context) => {
      const planned = one(2, { plan: "header:x-tier", plans: { pro: { [name]: 3 }, team: { [name]: 4 } } } as never);
      const { ask } = await startWith(context, [planned], {
        plan: async (seen) => seen.header("X-Plan"),
        limits: (seen) => (seen.header("X-Bought") ? { [name]: Number(seen.header("X-Bought")) } : undefined),
      });
      const quota = async (headers: Record<string, string>) => {
        const answer = await ask({ headers }).catch(() => new Response(null, { status: 500 }));
        return [answer.status, fieldsOf(answer).policies?.[name]?.q, fieldsOf(answer).legacy?.limit];
      };
      expect(await quota({})).toEqual([200, 2, 2]);
      expect(await quota({ "X-Plan": "pro" })).toEqual([200, 3, 3]);
      expect(await quota({ "X-Plan": "pro", "X-Bought": "5" })).toEqual([200, 5, 5]);
      expect(await quota({ "X-Tier": "team" })).toEqual([200, 4, 4]);
      expect(await quota({ "X-Plan": "gold", "X-Tier": "team" })).toEqual([429, 2, 2]);
      expect(await quota({ "X-Bought": "0.5" })).toEqual([500, undefined, undefined]);
    });

    it("goes on without a charge and without fields where the program skips it", async (context) => {
      const { ask } = await startWith(context, [one(1)], { skip: ({ path }) => path === "/health" });
      for (let i = 0; i < 3; i++) expect(fieldsOf(await ask({}, "/health"))).toEqual({});
      expect((await ask()).status).toBe(200);
    });

    it("shows no numbers of one client in an answer that shared caches may keep, unless the program wants it", async (context) => {
      needs(context, "options");
      const handler = () => new Response("ok", { headers: { "Cache-Control": "public, max-age=60" } });
      for (const rateLimitHeadersOnCacheable of [false, true]) {
        const { ask } = await start([one(9)], { options: { rateLimitHeadersOnCacheable }, handler });
        expect("states" in fieldsOf(await ask())).toBe(rateLimitHeadersOnCacheable);
      }
    });

    it("refuses with the program's answer, which gets the fields, and which nobody stores", async (context) => {
      const response = vi.fn<NonNullable<WayOptions["response"]>>((decision, { path }, standard) =>
        Response.json([path, decision.allowed, standard.headers.get("Content-Type")], { status: 420 }),
      );
      const { ask, handled } = await startWith(context, [one(1)], { response });
      await ask();
      const refused = await ask({ headers: { Origin: PAGE } }, "/a");
      expect([refused.status, await refused.json()]).toEqual([420, ["/a", false, "application/problem+json"]]);
      expect(fieldsOf(refused)).toMatchObject({ states: { [name]: { r: 0 } }, retryAfter: expect.any(Number) });
      expect(refused.headers.get("Cache-Control")).toBe("no-store");
      expect(refused.headers.get("Access-Control-Expose-Headers")).toContain("Retry-After");
      expect([response.mock.calls.length, handled.length]).toEqual([1, 1]);
    });

    it("leaves the Retry-After of the program's answer alone", async (context) => {
      const response = () => new Response("slow down", { status: 429, headers: { "Retry-After": "7" } });
      const { ask } = await startWith(context, [one(1)], { response });
      await ask();
      const refused = await ask();
      expect(fieldsOf(refused).retryAfter).toBe(7);
      for (const field of ["retry-after-ms", "X-Should-Retry"]) expect(refused.headers.has(field)).toBe(false);
    });

    it("names the same wait in all fields, however long the program takes for its answer", async (context) => {
      vi.useFakeTimers({ now: Date.UTC(2026, 10, 22, 10, 10), toFake: ["Date"] });
      const response: WayOptions["response"] = async (_, _seen, standard) => {
        vi.setSystemTime(Date.now() + 2_500);
        return standard;
      };
      const log = one(1, { limits: [{ algorithm: "sliding-log", limit: 1, window: "1h" }] });
      const { ask } = await startWith(context, [log], { response });
      await ask();
      const answer = fieldsOf(await ask());
      expect(answer).toMatchObject({ states: { [name]: { r: 0, t: 3_600 } }, retryAfter: 3_600 });
      expect(answer.legacy?.resetAt).toBe(Date.UTC(2026, 10, 22, 11, 10) / 1_000);
    });
  });
}
