import { describe, expect, it, vi } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { SECRET_POLICIES } from "../support/gateway/limits-policies.ts";
import { gatewayWith, NO_REDIS, recordingOrigin, uniqueName } from "./support.ts";

const LIMITS = "/.headgate/limits";
const ME = `${LIMITS}/me`;
const HTML = { headers: { Accept: "text/html,*/*;q=0.8" } };

const policyOf = (limit: number, more: object = {}) => ({
  name: uniqueName("limits"),
  limits: [{ limit, window: "1h" }],
  ...more,
});

interface Left {
  readonly region: string;
  readonly limits: readonly Record<string, unknown>[];
}

describe(LIMITS, () => {
  it("is a page to who asks for one, and JSON to everybody else", async () => {
    const ask = gatewayWith({ POLICIES: [policyOf(7)], REGION: "eu" });
    for (const Accept of ["*/*", "application/json", "application/json, text/html", ""]) {
      const answer = await ask(LIMITS, { headers: { Accept } });
      expect(answer.headers.get("Content-Type")).toBe("application/json");
      expect(await answer.json()).toMatchObject({ region: "eu", regions: [{ name: "eu" }] });
    }
    const page = await ask(LIMITS, HTML);
    expect(page.headers.get("Content-Type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("Content-Security-Policy")).toMatch(/^default-src 'none';/);
    expect(page.headers.get("Content-Security-Policy")).not.toContain("unsafe");
    expect(await page.text()).toMatch(/^<!doctype html>\s*<html lang="en">/);
    for (const answer of [page, await ask(LIMITS)]) {
      expect(answer.status).toBe(200);
      expect(answer.headers.get("Vary")).toBe("Accept");
      expect(answer.headers.get("Cache-Control")).toBe("private, max-age=60");
    }
  });

  it("answers 304 to who has it, and anew when it, the region or the kind of answer is another", async () => {
    const policy = policyOf(7);
    const bindings = { POLICIES: [policy], REGION: "eu" };
    const ask = gatewayWith(bindings);
    const tags = await Promise.all([{}, HTML].map(async (init) => (await ask(LIMITS, init)).headers.get("ETag")!));
    expect(new Set(tags).size).toBe(2);
    for (const tag of [tags[0]!, `W/${tags[0]}`, `"other", ${tags[0]}`, "*"]) {
      const answer = await ask(LIMITS, { headers: { "If-None-Match": tag } });
      expect(answer.status).toBe(304);
      expect(answer.headers.get("ETag")).toBe(tags[0]);
      expect(await answer.text()).toBe("");
    }
    const IF = { headers: { "If-None-Match": tags[0]! } };
    expect((await ask(LIMITS, { headers: { ...IF.headers, ...HTML.headers } })).status).toBe(200);
    expect((await gatewayWith({ ...bindings, REGION: "us" })(LIMITS, IF)).status).toBe(200);
    const changed = { ...policy, limits: [{ limit: 8, window: "1h" }] };
    expect((await gatewayWith({ ...bindings, POLICIES: [changed] })(LIMITS, IF)).status).toBe(200);
  });

  it("answers HEAD without a body, and without asking Redis or the origin, as often as one likes", async () => {
    const { requests, ORIGIN } = recordingOrigin();
    const fetched = vi.spyOn(globalThis, "fetch");
    const ask = gatewayWith({ POLICIES: [policyOf(1)], ORIGIN });
    for (const init of [{}, HTML]) {
      const head = await ask(LIMITS, { method: "HEAD", ...init });
      expect([head.status, await head.text()]).toEqual([200, ""]);
      expect(head.headers.get("ETag")).toBe((await ask(LIMITS, init)).headers.get("ETag"));
      expect(fieldsOf(head)).toEqual({});
    }
    expect([fetched.mock.calls.length, requests.length]).toEqual([0, 0]);
  });
});

it("is linked to on the page that a refused browser gets, where a person can see it", async () => {
  const ask = gatewayWith({ POLICIES: [policyOf(1)] });
  await ask("/");
  const refused = await ask("/", HTML);
  expect(refused.status).toBe(429);
  expect(refused.headers.get("Link")).toBe('</.headgate/limits>; rel="help"');
  expect(await refused.text()).toContain('<a href="/.headgate/limits">');
  // Only a refusal links to the limits page.
  expect(await (await ask("/.headgate/nothing", HTML)).text()).not.toContain("<a ");
});

describe(ME, () => {
  const left = async (answer: Response) => {
    expect(answer.status).toBe(200);
    expect(answer.headers.get("Cache-Control")).toBe("no-store");
    return (await answer.json()) as Left;
  };

  it("says what is left and never charges, in one call to Redis for all policies", async () => {
    const [site, search] = [
      policyOf(5),
      policyOf(9, { match: { method: "POST", path: "/search" }, cost: [{ path: "/search", cost: 3 }] }),
    ];
    const ask = gatewayWith({ POLICIES: [site, search], REGION: "eu" });
    await ask("/search", { method: "POST" });
    const fetched = vi.spyOn(globalThis, "fetch");
    const looks = [];
    for (let i = 0; i < 3; i++) looks.push(await left(await ask(`${ME}?method=POST&path=/search`)));
    expect(fetched).toHaveBeenCalledTimes(3);
    for (const look of looks) {
      expect(look).toMatchObject({ region: "eu" });
      expect(look.limits).toEqual([
        { policy: site.name, id: site.name, remaining: 4, quota: 5, cost: 1, ...waits() },
        { policy: search.name, id: search.name, remaining: 6, quota: 9, cost: 3, ...waits() },
      ]);
    }
    const atRoot = await left(await ask(ME));
    expect(atRoot.limits).toMatchObject([{ id: site.name, remaining: 4 }]);
    expect(fieldsOf(await ask("/")).states).toMatchObject({ [site.name]: { r: 3 } });
  });

  it("tells the numbers of the caller's plan, and what each policy of a chain has left by itself", async () => {
    const [plan, team] = [uniqueName("plan"), uniqueName("team")];
    const limits = [{ limit: 2, window: "1h" }];
    const own = { key: ["header:x-user"], plan: "header:x-plan", plans: { pro: { [plan]: 3 } }, overflow: team };
    const policies = [
      { name: plan, limits, ...own },
      { name: team, limits },
    ];
    const ask = gatewayWith({ ...NO_REDIS, POLICIES: policies });
    const by = (user: string, more: object = {}) => ({ headers: { "X-User": user, ...more } });
    for (let i = 0; i < 3; i++) await ask("/", by("ann"));
    const limitsOf = async (init: RequestInit) => (await left(await ask(ME, init))).limits;
    const spent = { id: team, quota: 2, remaining: 1 };
    expect(await limitsOf(by("ann"))).toMatchObject([{ id: plan, quota: 2, remaining: 0 }, spent]);
    expect(await limitsOf(by("ann", { "X-Plan": "pro" }))).toMatchObject([{ quota: 3, remaining: 1, cost: 1 }, spent]);
  });

  it("says what a call of a tool or a method would cost, and without one the most that a call may cost", async () => {
    const [calls, deletes] = [
      policyOf(99, {
        match: { path: "/mcp" },
        cost: [
          { tool: "search", cost: 10 },
          { rpc: "ping", cost: 0 },
        ],
      }),
      policyOf(9, { match: { path: "/mcp", tool: "delete*" } }),
    ];
    const ask = gatewayWith({ POLICIES: [calls, deletes] });
    const costs = async (call: string) => {
      const { limits } = await left(await ask(`${ME}?method=POST&path=/mcp${call}`));
      return limits.map(({ cost }) => cost);
    };
    expect(await costs("")).toEqual([10, 1]);
    expect(await costs("&tool=search")).toEqual([10]);
    expect(await costs("&tool=delete_note")).toEqual([1, 1]);
    expect(await costs("&rpc=ping")).toEqual([0]);
    expect(await costs("&rpc=tools/call")).toEqual([10, 1]);
  });

  const waits = () => ({ growsAfterMs: expect.any(Number), resetAfterMs: expect.any(Number) });

  it("tells a caller of its own address and token only", async () => {
    const policy = policyOf(5, { key: ["bearer", "ip"] });
    const ask = gatewayWith({ POLICIES: [policy] });
    const ann = { headers: { Authorization: "Bearer ann" } };
    for (let i = 0; i < 2; i++) await ask("/", ann);
    await ask("/", { address: "192.0.2.7" });
    const remaining = async (init: Parameters<typeof ask>[1]) => (await left(await ask(ME, init))).limits[0]!.remaining;
    expect(await remaining(ann)).toBe(3);
    expect(await remaining({ address: "192.0.2.7" })).toBe(4);
    expect(await remaining({ address: "192.0.2.8" })).toBe(5);
    // No part of the request can name another client.
    const forged = `${ME}?path=/&ip=192.0.2.7&CF-Connecting-IP=192.0.2.7`;
    const headers = { "X-Forwarded-For": "192.0.2.7" };
    expect((await left(await ask(forged, { address: "192.0.2.8", headers }))).limits[0]!.remaining).toBe(5);
  });

  it("does not say what is undocumented or only tried out, nor ask Redis of it", async () => {
    const fetched = vi.spyOn(globalThis, "fetch");
    const answer = await gatewayWith({ POLICIES: SECRET_POLICIES })(ME);
    expect((await left(answer)).limits).toEqual([]);
    expect(fetched).not.toHaveBeenCalled();
  });

  it("keeps to the caller's own host and place", async () => {
    const match = (host: string) => ({ match: { host } });
    const [here, there] = [policyOf(5, match("gate.example")), policyOf(5, match("evil.example"))];
    const local = policyOf(5, { key: ["country"] });
    const ask = gatewayWith({ POLICIES: [here, there, local] });
    for (const path of ["/", "//evil.example/x", "/@evil.example/", "/\\evil.example/x"]) {
      const { limits } = await left(await ask(`${ME}?path=${encodeURIComponent(path)}`));
      expect(limits.map(({ id }) => id)).toEqual([here.name, local.name]);
    }
    await ask("/", { cf: { country: "DE" } });
    const remaining = async (country: string) => (await left(await ask(ME, { cf: { country } }))).limits[1]!.remaining;
    expect([await remaining("DE"), await remaining("FR")]).toEqual([4, 5]);
  });

  it.each(["?path=x", "?path=", "?path=https://evil.example/", "?method=A%20B", "?method="])(
    "refuses %s",
    async (query) => {
      const answer = await gatewayWith({ POLICIES: [policyOf(5)] })(`${ME}${query}`);
      expect(answer.status).toBe(400);
      expect(answer.headers.get("Content-Type")).toBe("application/problem+json");
    },
  );

  it("is refused to who asks too often without asking Redis, and again allowed later", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const ask = gatewayWith({ POLICIES: [policyOf(5)] });
    await ask(ME);
    const fetched = vi.spyOn(globalThis, "fetch");
    const statuses = async (times: number, addressOf: (i: number) => string) => {
      const counts: Record<number, number> = {};
      for (let i = 0; i < times; i++) {
        const { status } = await ask(ME, { address: addressOf(i) });
        counts[status] = (counts[status] ?? 0) + 1;
      }
      return counts;
    };
    // One address: 30 requests a minute, of which at most 20 at once. Every request is sent at the beginning of a
    // minute, so that no new minute begins between them.
    vi.setSystemTime(60_000 * Math.ceil(Date.now() / 60_000) + 3_600_000);
    await statuses(20, () => "192.0.2.1");
    vi.setSystemTime(Date.now() + 5_000);
    expect(await statuses(15, () => "192.0.2.1")).toEqual({ 200: 10, 429: 5 });
    const answer = await ask(ME);
    expect(answer.headers.get("Retry-After")).toMatch(/^\d+$/);
    expect(answer.headers.get("Link")).toContain("/.headgate/limits");
    // All clients together: 20 requests a second.
    vi.setSystemTime(Date.now() + 3_600_000);
    expect(await statuses(50, (i) => `198.51.100.${i}`)).toEqual({ 200: 20, 429: 30 });
    expect(fetched).toHaveBeenCalledTimes(20 + 10 + 20);
    vi.setSystemTime(Date.now() + 3_600_000);
    expect(await statuses(1, () => "192.0.2.1")).toEqual({ 200: 1 });
  });

  it("lets a page of another origin read what its own requests have left", async () => {
    const answer = await gatewayWith({ POLICIES: [policyOf(5)] })(ME, { headers: { Origin: "https://app.example" } });
    expect(answer.headers.get("Access-Control-Allow-Origin")).toBe("https://app.example");
    expect(answer.headers.has("Access-Control-Allow-Credentials")).toBe(false);
  });
});

const limitsOf = async (answer: Response) =>
  ((await answer.json()) as Left).limits.map(({ policy, cost }) => [policy, cost]);

it("shows on /me every policy that a body may match, at its highest cost, and none that counts by what a body says", async () => {
  const [login, paid, free, all] = [
    policyOf(5, { key: ["body:email", "ip"] }),
    policyOf(5, { match: { body: { plan: "pro" } }, cost: [{ body: { size: "big" }, cost: 3 }] }),
    policyOf(5, { except: { body: { plan: "free" } } }),
    policyOf(5, { match: { tool: "search", body: { plan: "pro" } } }),
  ];
  const ask = gatewayWith({ ...NO_REDIS, POLICIES: [login, paid, free, all] });
  expect(await limitsOf(await ask(ME))).toEqual([
    [paid.name, 3],
    [free.name, 1],
    [all.name, 1],
  ]);
  expect(await limitsOf(await ask(`${ME}?tool=other`))).toEqual([
    [paid.name, 3],
    [free.name, 1],
  ]);
});
