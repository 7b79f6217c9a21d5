import { describe, expect, it, vi } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import type { Bindings } from "../../src/kernel/config/settings.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../src/kernel/store/store.ts";
import { createProbe, statusOf } from "../../src/operate/health.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { DEAD_REDIS, gatewayWith, NO_REDIS, recordingOrigin, redisBindings, uniqueName } from "./support.ts";

const POLICIES = [{ name: uniqueName("health"), key: ["ip"], limits: [{ limit: 1, window: "1h" }] }];
const HEALTH = "/.headgate/health";

/** How often Redis was asked whether it is there: it is asked once for its settings, too. */
const pingsOf = (fetched: { readonly mock: { readonly calls: readonly (readonly unknown[])[] } }) =>
  fetched.mock.calls.filter(([, init]) => /ping/i.test(String((init as RequestInit).body))).length;

describe("/.headgate/health", () => {
  it("is ok while Redis answers", async () => {
    const { requests, ORIGIN } = recordingOrigin();
    const answer = await gatewayWith({ POLICIES, ORIGIN, REGION: "eu" })(HEALTH);

    expect(answer.status).toBe(200);
    expect(answer.headers.get("Cache-Control")).toBe("no-store");
    expect(await answer.json()).toEqual({
      status: "ok",
      version: packageJson.version,
      store: "redis",
      region: "eu",
      redis: { reachable: true, latencyMs: expect.any(Number), breaker: "closed" },
      origin: "service",
      notes: [],
    });
    expect(requests).toEqual([]);
  });

  it("is 503 and says why while the configured Redis cannot be reached", async () => {
    const answer = await gatewayWith({ ...DEAD_REDIS, POLICIES })(HEALTH);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({
      status: "unavailable",
      store: "redis",
      redis: { reachable: false, error: "NETWORK" },
    });
    const refused = await gatewayWith({ UPSTASH_REDIS_REST_TOKEN: "wrong", POLICIES })(HEALTH);
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ redis: { reachable: false, error: "UNAUTHORIZED" } });
  });

  it("is degraded while one of several places is away, and names it", async () => {
    const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token } = redisBindings();
    const nodes = [url, DEAD_REDIS.UPSTASH_REDIS_REST_URL].map((url, i) => ({
      name: `n${i}`,
      url,
      token: `TOKEN_${i}`,
    }));
    const REDIS_NODES = nodes.map((node, i) => ({ ...node, live: i === 0 }));
    const bindings = { ...NO_REDIS, REDIS_NODES, TOKEN_0: token, TOKEN_1: token, KEY_SECRET: "a secret of this test" };
    const answer = await gatewayWith({ ...bindings, POLICIES })(HEALTH);
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      {
        status: "degraded",
        redis: {
          reachable: false,
          places: [
            { name: "n0", reachable: true, breaker: "closed" },
            { name: "n1", reachable: false, breaker: "closed" },
          ],
        },
      },
    ]);
  });

  it("notes that each instance counts on its own without a Redis, and that the demo answers without an origin", async () => {
    const answer = await gatewayWith({ ...NO_REDIS, POLICIES })(HEALTH, { cf: { continent: "EU" } });
    const body = await answer.json();
    expect(answer.status).toBe(200);
    expect(body).toMatchObject({ status: "ok", store: "memory", region: "EU", origin: "demo" });
    expect(body).toHaveProperty("notes", [
      expect.stringContaining("counts on its own"),
      expect.stringContaining("demo"),
    ]);
    expect(body).not.toHaveProperty("redis");
  });

  it("names no policy: which ones a client can leave by another token is in the log only", async () => {
    const logged = vi.spyOn(console, "warn").mockImplementation(() => {});
    const policies = [
      { name: "by-token", key: ["bearer"], limits: [{ limit: 1, window: "1h" }], warn: [0.8] },
      { name: "unsaid", key: ["header:x-user"], documented: false, limits: [{ limit: 1, window: "1h" }] },
      { name: "only-tried", key: ["cookie:id"], mode: "shadow", limits: [{ limit: 1, window: "1h" }] },
    ];
    const text = await (await gatewayWith({ POLICIES: policies })(HEALTH)).text();
    expect(text).not.toMatch(/by-token|unsaid|only-tried|policy|bearer|x-user|cookie/);
    const lines = logged.mock.calls.map(([line]) => line as string);
    expect(lines).toContainEqual(expect.stringContaining("policy by-token has warn, but ALERT_URL is not set"));
    for (const { name } of policies) expect(lines).toContainEqual(expect.stringContaining(`policy ${name} counts by`));
  });

  it("asks Redis once in 5 seconds, however often it is asked itself", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const fetched = vi.spyOn(globalThis, "fetch");
    const ask = gatewayWith({ POLICIES });
    const startMs = Date.now();
    const probes = async (atMs: number) => {
      vi.setSystemTime(startMs + atMs);
      expect((await ask(HEALTH)).status).toBe(200);
      return pingsOf(fetched);
    };

    const found: number[] = [];
    for (const atMs of [0, 1, 4_999, 5_000, 9_999, 10_000]) found.push(await probes(atMs));
    expect(found).toEqual([1, 1, 1, 2, 2, 3]);
  });

  it("asks Redis once for 100 requests at once to an isolate that knows nothing, and all of them say what it answered", async () => {
    const fetched = vi.spyOn(globalThis, "fetch");
    const ask = gatewayWith({ POLICIES });
    const answers = await Promise.all(Array.from({ length: 100 }, () => ask(HEALTH)));
    expect(pingsOf(fetched)).toBe(1);
    const bodies = await Promise.all(answers.map(async (answer) => (await answer.json()) as { redis: object }));
    expect(bodies[0]).toMatchObject({ status: "ok", redis: { reachable: true } });
    for (const body of bodies) expect(body).toEqual(bodies[0]);
  });

  it("reads the live document before it asks whether Redis is there: together they could open too many connections", async () => {
    const fetched = vi.spyOn(globalThis, "fetch");
    await gatewayWith({ POLICIES, ADMIN_TOKEN: "0123456789abcdef0123456789abcdef" })(HEALTH);
    const commands = fetched.mock.calls.map(([, init]) => /\["(\w+)/.exec(String((init as RequestInit).body))?.[1]);
    expect([commands[0], commands.at(-2), commands.at(-1)].map((one) => one?.toLowerCase())).toEqual([
      "evalsha",
      "ping",
      "info",
    ]);
  });

  it("asks again when a PING that others wait for never ends", async () => {
    let pings = 0;
    const ping = () => (++pings === 1 ? new Promise<void>(() => {}) : Promise.resolve());
    const probe = createProbe(new Map([["redis", { ...memoryStore(), ping }]]), 50);
    const background = { waitUntil() {} };
    void probe(background);
    expect(await probe(background)).toMatchObject({ reachable: true });
    expect(pings).toBe(2);
  });

  // With its question for settings a place takes two calls, and the free plan allows a request 50.
  it.each([
    [6, 1],
    [20, 1],
    [24, 2],
    [100, 5],
    [256, 13],
  ])(
    "of %i places asks 20 at most, six at a time; all are known after %i calls, none is said to be away",
    async (n, calls) => {
      vi.useFakeTimers({ toFake: ["Date"] });
      let [open, most, asked] = [0, 0, 0];
      const answer = async () => {
        asked++;
        most = Math.max(most, ++open);
        await Promise.resolve();
        open--;
        return undefined;
      };
      const place = { ...memoryStore(), ping: answer, warning: answer } as Store;
      const names = Array.from({ length: n }, (_, i) => `place ${i}`);
      const probe = createProbe(new Map(names.map((name) => [name, place])), 50);
      let before = 0;
      for (let call = 1; call <= calls; call++) {
        const found = await probe({ waitUntil() {} });
        const known = Math.min(n, 20 * call);
        expect([statusOf(found), found.reachable, asked - before <= 40, most <= 6]).toEqual(["ok", true, true, true]);
        expect(found.places?.map(({ name }) => name)).toEqual(names.slice(0, known));
        expect(found.notAskedYet).toEqual(known < n ? names.slice(known) : undefined);
        before = asked;
        vi.setSystemTime(Date.now() + 15_000);
      }
      // What was asked longest ago is asked again.
      await probe({ waitUntil() {} });
      expect(asked - before).toBe(Math.min(n, 20));
      vi.setSystemTime(Date.now() + 300_000);
      const later = await probe({ waitUntil() {} });
      expect(later.notAskedYet?.length ?? 0).toBe(Math.max(0, n - 20));
    },
  );

  it("is degraded while a place that was found away is remembered, unavailable once no place is left to ask", async () => {
    const ping = () => Promise.reject(new StoreError("NETWORK"));
    const names = Array.from({ length: 24 }, (_, i) => `place ${i}`);
    const probe = createProbe(new Map(names.map((name) => [name, { ...memoryStore(), ping }])), 50);
    const statuses = [];
    for (let call = 0; call < 2; call++) statuses.push(statusOf(await probe({ waitUntil() {} })));
    expect(statuses).toEqual(["degraded", "unavailable"]);
  });

  it("is degraded, and says why, until the operator has mended what the place warns of", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const logged = vi.spyOn(console, "warn").mockImplementation(() => {});
    const answers = ["forgets counts", "forgets counts", undefined];
    const warning = vi.fn(async () => answers.shift());
    const probe = createProbe(new Map([["redis", { ...memoryStore(), warning }]]), 50);
    const statuses = [];
    for (let i = 0; i < 5; i++) {
      const found = await probe({ waitUntil() {} });
      statuses.push([statusOf(found), found.warning]);
      vi.setSystemTime(Date.now() + 5_000);
    }
    const bad = ["degraded", "forgets counts"];
    expect(statuses).toEqual([bad, bad, ...Array(3).fill(["ok", undefined])]);
    expect([warning.mock.calls.length, logged.mock.calls.length]).toEqual([3, 1]);
  });

  it("is degraded while the isolate finds that the place loses counts, also where Redis says nothing of it", async () => {
    let lossWarning: string | undefined;
    const place = { ...memoryStore(), lossWarning: () => lossWarning };
    const probe = createProbe(new Map([["redis", place]]), 50);
    const statuses = [];
    for (const next of [undefined, "loses counts", undefined]) {
      lossWarning = next;
      const found = await probe({ waitUntil() {} });
      statuses.push([statusOf(found), found.warning]);
    }
    expect(statuses).toEqual([
      ["ok", undefined],
      ["degraded", "loses counts"],
      ["ok", undefined],
    ]);
  });

  it("is reachable although nobody answers what it warns of, and asks that again", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const warning = vi.fn(() => Promise.reject(new StoreError("TIMEOUT")));
    const probe = createProbe(new Map([["redis", { ...memoryStore(), warning }]]), 50);
    expect(statusOf(await probe({ waitUntil() {} }))).toBe("ok");
    vi.setSystemTime(Date.now() + 5_000);
    expect(statusOf(await probe({ waitUntil() {} }))).toBe("ok");
    expect(warning).toHaveBeenCalledTimes(2);
  });
});

describe("reserved paths", () => {
  const spellings = [
    "/.headgate/x",
    "/.headgate/limits/x",
    "//.headgate/health",
    "/.HeadGate/health",
    "/%2eheadgate/x",
    "/.%68eadgate//health/",
    "///%2E%68%65%61%64%67%61%74%65/x",
    "/x/../.headgate/x",
    "/./.headgate/x",
  ];

  it.each(spellings)("%s never reaches the origin and is never counted", async (path) => {
    const { requests, ORIGIN } = recordingOrigin();
    const ask = gatewayWith({ POLICIES, ORIGIN });
    for (const method of ["GET", "POST", "OPTIONS"]) {
      const answer = await ask(path, { method });
      expect(answer.status).toBe(404);
      expect(fieldsOf(answer)).toEqual({});
    }
    expect(requests).toEqual([]);
  });

  const ADMIN = {
    ADMIN_TOKEN: "0123456789abcdef0123456789abcdef",
    ASSETS: { fetch: async () => new Response("file") },
  };
  const STATS = { idFromName: (name: string) => name, get: () => ({ totals: async () => [] }) };
  const OPEN = [HEALTH, "/.headgate/limits", "/.headgate/limits/me"];
  const [CALLS, METRICS, CONSOLE] = ["/.headgate/admin/policies", "/.headgate/metrics", "/.headgate/console"];

  it.each<[string, Bindings, string[]]>([
    ["nothing for admins without an ADMIN_TOKEN", { STATS, ASSETS: ADMIN.ASSETS }, OPEN],
    ["no metrics without STATS", ADMIN, [...OPEN, CALLS, CONSOLE]],
    ["no console without its files", { ADMIN_TOKEN: ADMIN.ADMIN_TOKEN, STATS }, [...OPEN, CALLS, METRICS]],
    ["everything", { ...ADMIN, STATS }, [...OPEN, CALLS, METRICS, CONSOLE]],
    ["health alone of a wrong configuration", { ...ADMIN, POLICIES: [] }, [HEALTH]],
  ])("are listed by /.headgate/, each of them exists, and no other: %s", async (_what, bindings, listed) => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    vi.spyOn(console, "error").mockImplementation(() => {});
    const { requests, ORIGIN } = recordingOrigin();
    const ask = gatewayWith({ POLICIES, ORIGIN, ...bindings });
    for (const path of ["/.headgate", "/.headgate/"]) {
      const answer = await ask(path);
      expect([answer.status, answer.headers.get("Cache-Control"), fieldsOf(answer)]).toEqual([200, "no-store", {}]);
      expect(Object.keys(((await answer.json()) as { paths: object }).paths)).toEqual(listed);
    }
    const page = await ask("/.headgate/", { headers: { Accept: "text/html" } });
    const hrefs = [...(await page.text()).matchAll(/href="([^"]+)"/g)].map(([, href]) => href);
    expect([page.headers.get("Content-Type"), hrefs]).toEqual(["text/html; charset=UTF-8", listed]);
    // Of a wrong configuration nobody can know which of them would exist.
    const isWrong = listed.length === 1;
    for (const path of [...OPEN, CALLS, METRICS, CONSOLE]) {
      const { status } = await ask(path);
      expect([path, isWrong ? status === 503 : status !== 404]).toEqual([path, isWrong || listed.includes(path)]);
    }
    expect(requests).toEqual([]);
  });

  it.each(["/.headgates", "/x/.headgate/health", "/.headgat"])("%s is the origin's", async (path) => {
    const { requests, ORIGIN } = recordingOrigin();
    const free = [{ name: "elsewhere", match: { path: "/limited" }, limits: [{ limit: 1, window: "1h" }] }];
    expect(await (await gatewayWith({ POLICIES: free, ORIGIN })(path)).text()).toBe("origin");
    expect(requests).toHaveLength(1);
  });
});
