// Takes over HTTP, in this process: what may be asked, what is answered, and whether the OpenAPI document says so.

import Ajv2020 from "ajv/dist/2020.js";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { parsePolicies } from "../../src/features/configuration.ts";
import { createGateway } from "../../src/gateway.ts";
import { Flag } from "../../src/kernel/core/layout.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../src/kernel/store/store.ts";
import { OPENAPI } from "../../src/operate/take/openapi.ts";
import { createReservations } from "../../src/operate/take/reservations.ts";
import { splitStore } from "../../src/stores/split-store.ts";
import { limiterOf } from "../support/limiter.ts";

const TOKEN = "a-token-of-programs-with-32-letters";
const NOW_MS = Date.parse("2026-11-29T12:00:00Z");

beforeEach(() => {
  vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] });
  for (const level of ["log", "warn", "error"] as const) vi.spyOn(console, level).mockImplementation(() => {});
});

const POLICIES = [
  { name: "api", key: ["ip"], limits: [{ limit: 5, window: "1h" }], plans: { pro: { api: 50 } } },
  { name: "all", key: "global", limits: [{ algorithm: "fixed-window", limit: 100, window: "1d" }] },
  { name: "late", key: ["ip"], once: "header:idempotency-key", limits: [{ limit: 1, window: "1h" }] },
  {
    name: "slow",
    key: ["ip"],
    limits: [{ algorithm: "leaky-bucket", limit: 60, window: "1m", burst: 1, maxDelay: "5s" }],
  },
  { name: "tried", mode: "shadow", key: ["ip"], limits: [{ limit: 1, window: "1h" }] },
  { name: "here", key: ["ip"], limits: [{ limit: 1, window: "1h", scope: "region" }] },
  { name: "uploads", key: ["ip"], limits: [{ algorithm: "concurrency", limit: 2, timeout: "1m" }] },
  { name: "constructor", key: ["ip"], limits: [{ limit: 5, window: "1h" }] },
];

/** Two dollars an hour, and ten from elsewhere. */
const DOLLARS = [2, 10].map((limit, i) => ({
  ...{ name: ["own", "pool"][i], key: ["ip"], limits: [{ algorithm: "fixed-window", limit, window: "1h" }] },
  ...{ meter: { unit: "usd", prices: { default: { input: 1, output: 1 } } }, ...(i === 0 && { overflow: "pool" }) },
}));

const ajv = new Ajv2020({ strict: false, allErrors: true });
ajv.addSchema({ $id: "api", ...OPENAPI });
const isA = (name: string, value: unknown) => {
  const validate = ajv.getSchema(`api#/components/schemas/${name}`)!;
  validate(value);
  return validate.errors ?? [];
};

function programOf(more: object = {}) {
  const gateway = createGateway({ POLICIES, KEY_SECRET: "a-secret-of-these-tests", TAKE_TOKEN: TOKEN, ...more });
  const context = { waitUntil() {}, passThroughOnException() {} };
  const fetch = async (path: string, init?: RequestInit) =>
    await gateway.fetch(new Request(`https://gate.example${path}`, init), {}, context as never);
  const post = async (path: string, body: unknown, token = TOKEN, address = "192.0.2.1") => {
    const headers = { Authorization: `Bearer ${token}`, "CF-Connecting-IP": address };
    const text = typeof body === "string" || body instanceof Blob ? body : JSON.stringify(body);
    const answer = await fetch(path, { method: "POST", headers, body: text });
    // biome-ignore lint/suspicious/noExplicitAny: each test knows what it asks for.
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as any };
  };
  return {
    fetch,
    post,
    take: (body: unknown) => post("/.headgate/take", body),
    settle: (reservation: string, used: unknown) => post("/.headgate/settle", { reservation, used }),
    left: async (policy: string, key: string) => {
      return (await post("/.headgate/take", { policy, key, peek: true })).body.remaining;
    },
  };
}

describe("a take", () => {
  it("is admitted until the limit is used up, and answered with the decision and its fields", async () => {
    const { take } = programOf();
    const first = await take({ policy: "api", key: "user:42", cost: 3 });
    expect(first.status).toBe(200);
    expect(first.body).toMatchObject({
      ...{ allowed: true, outcome: "admitted", source: "memory", remaining: 2, retryAfterMs: 0 },
      limits: [{ id: "api", limit: 5, remaining: 2, resetAfterMs: first.body.resetAfterMs, admitted: true }],
    });
    expect(first.headers.get("RateLimit")).toMatch(/^"api";r=2;t=\d+$/);
    expect(first.headers.get("RateLimit-Policy")).toBe('"api";q=5;w=3600');
    expect([first.headers.get("X-RateLimit-Remaining"), first.headers.get("Cache-Control")]).toEqual(["2", "no-store"]);
    const second = await take({ policy: "api", key: "user:42", cost: 3 });
    expect(second.status).toBe(429);
    expect(second.body).toMatchObject({
      allowed: false,
      outcome: "refused",
      remaining: 2,
      limits: [{ admitted: false }],
    });
    expect(Number(second.headers.get("retry-after-ms"))).toBe(second.body.retryAfterMs);
    expect(Number(second.headers.get("Retry-After"))).toBe(Math.ceil(second.body.retryAfterMs / 1_000));
    for (const { body } of [first, second]) expect(isA("Decision", body)).toEqual([]);
    const never = await take({ policy: "api", key: "user:42", cost: 6 });
    expect([never.status, never.body.retryAfterMs, never.headers.get("X-Should-Retry")]).toEqual([
      429,
      undefined,
      "false",
    ]);
  });

  it("of several policies counts under all or none; a delay is told", async () => {
    const { take, left } = programOf();
    const both = { takes: [{ policy: "api", key: "ann", cost: 4 }, { policy: "all" }] };
    expect((await take(both)).body.limits.map(({ id }: { id: string }) => id)).toEqual(["api", "all"]);
    expect([(await take(both)).status, await left("api", "ann")]).toEqual([429, 1]);
    await take({ policy: "slow", key: "ann" });
    const delayed = await take({ policy: "slow", key: "ann" });
    expect([delayed.status, delayed.body.delayMs, isA("Decision", delayed.body)]).toEqual([200, 1_000, []]);
  });

  const A = { policy: "api", key: "a" };
  const COST = "cost: expected an integer from 0 to 1000000000; found";
  const SEVERAL = "there is no such member. Expected";
  it.each<[unknown, string]>([
    [[], "The body: expected an object, found []."],
    [{}, "policy: expected a text of at least 1 character; found nothing."],
    [
      { policy: "none", key: "a" },
      'no policy is named "none"; there are api, all, late, slow, tried, here, uploads, constructor.',
    ],
    [{ policy: "api" }, 'policy api needs a key (only policies with key "global" do without).'],
    [
      { policy: "api", key: "" },
      "key: expected a text, or a list with a text for each part of a combined kind; found a value that is not shown.",
    ],
    [{ ...A, cost: -1 }, `${COST} -1.`],
    ['{ "policy": "api", "key": "a", "cost": 1e400 }', `${COST} Infinity.`],
    [{ ...A, cost: "1" }, `${COST} "1".`],
    [{ ...A, limits: { api: 9 } }, `limits: ${SEVERAL} policy, key, kind, cost, plan, once, region, peek, reserve.`],
    [{ ...A, kind: "bearer" }, 'expected kind to be one of ip, anonymous under policy api; found "bearer".'],
    [{ ...A, kind: "ip" }, "expected the key of kind ip to be an IPv4 or IPv6 address."],
    [
      { policy: "here", key: "a", region: "a b" },
      'region: expected 1 to 32 letters, digits, _ . or -, beginning with a letter or digit; found "a b".',
    ],
    [{ takes: [] }, "takes: expected a list of 1 to 16 objects; found []."],
    [{ takes: [A, { policy: "all", peek: true }] }, `takes[1].peek: ${SEVERAL} policy, key, kind, cost, plan, once.`],
    [{ takes: [A, A] }, "the same policy and key twice."],
    [{ policy: "api", takes: [A] }, `policy: ${SEVERAL} region, peek, reserve, takes.`],
    [{ ...A, peek: true, reserve: true }, "peek: expected no peek beside reserve: a peek counts nothing."],
    [
      { ...A, once: "b", reserve: true },
      "once: expected no once beside reserve: a repeat would have nothing to settle.",
    ],
    [
      { policy: "uploads", key: "a" },
      "The policy uploads limits requests in flight. A take over HTTP cannot hold a slot: its request ends with the answer.",
    ],
  ])("of %j is 422, with what is wrong", async (body, detail) => {
    const { status, body: answered, headers } = await programOf().take(body);
    expect([status, answered.detail]).toEqual([422, detail]);
    expect(headers.get("Content-Type")).toBe("application/problem+json");
    expect(isA("Problem", answered)).toEqual([]);
  });

  it("takes 16 policies and clients, and 64 KiB", async () => {
    const { take } = programOf();
    const takes = Array.from({ length: 17 }, (_, i) => ({ policy: "api", key: String(i) }));
    expect([(await take({ takes: takes.slice(1) })).status, (await take({ takes })).status]).toEqual([200, 422]);
    const text = JSON.stringify({ policy: "api", key: "ann" });
    expect((await take(text.padEnd(65_536))).status).toBe(200);
    expect((await take(text.padEnd(65_537))).status).toBe(413);
    expect((await take(`${text}}`)).status).toBe(400);
    // It would count as another client.
    const latin1 = Buffer.from('{"policy":"api","key":"M\u00fcller"}', "latin1");
    expect((await take(new Blob([latin1]))).status).toBe(400);
  });

  it("of a blocked client is 403", async () => {
    const admin = "a-token-of-admins-with-32-letters-";
    const { take, fetch } = programOf({ ADMIN_TOKEN: admin, LIVE_REFRESH: "30s" });
    const change = (method: string, path: string, body: object) =>
      fetch(`/.headgate/admin${path}`, {
        method,
        headers: { Authorization: `Bearer ${admin}` },
        body: JSON.stringify(body),
      });
    await change("PUT", "/overrides/api?kind=key&key=bob", { block: true });
    const { status, body, headers } = await take({ policy: "api", key: "bob" });
    expect([status, body.outcome, headers.get("X-Should-Retry")]).toEqual([403, "blocked", "false"]);
    expect(isA("Decision", body)).toEqual([]);
  });
});

describe("the door", () => {
  it("is not there without TAKE_TOKEN", async () => {
    const { post, fetch } = programOf({ TAKE_TOKEN: "", ADMIN_TOKEN: TOKEN });
    for (const path of ["take", "settle"]) expect((await post(`/.headgate/${path}`, {})).status).toBe(404);
    expect((await fetch("/.headgate/openapi.json")).status).toBe(404);
    expect(await (await fetch("/.headgate")).text()).not.toContain("openapi");
  });

  it("opens to its own token, and counts wrong ones with those of the admin API", async () => {
    const admin = "a-token-of-admins-with-32-letters-";
    const { post, fetch } = programOf({ ADMIN_TOKEN: admin });
    const wrong = await post("/.headgate/take", { policy: "all" }, admin, "192.0.2.7");
    expect([wrong.status, wrong.body.detail]).toEqual([401, "This needs the gateway's TAKE_TOKEN."]);
    const ask = async (token: string) => {
      const headers = { Authorization: `Bearer ${token}`, "CF-Connecting-IP": "192.0.2.7" };
      return (await fetch("/.headgate/admin/policies", { headers })).status;
    };
    const statuses = [];
    for (let i = 0; i < 5; i++) statuses.push(await ask(TOKEN));
    expect(statuses).toEqual([401, 401, 401, 401, 429]);
    expect((await post("/.headgate/take", { policy: "all" }, "x", "192.0.2.7")).status).toBe(429);
    expect((await post("/.headgate/take", { policy: "all" }, TOKEN, "192.0.2.7")).status).toBe(200);
    expect((await fetch("/.headgate/take", { headers: { Authorization: `Bearer ${TOKEN}` } })).status).toBe(404);
  });

  it("is listed, and describes itself as a valid OpenAPI document", async () => {
    const { fetch } = programOf();
    const { paths } = (await (await fetch("/.headgate")).json()) as { paths: object };
    expect(paths).toHaveProperty(["/.headgate/openapi.json"]);
    expect(await (await fetch("/.headgate/openapi.json")).json()).toEqual(JSON.parse(JSON.stringify(OPENAPI)));
    for (const name of Object.keys(OPENAPI.components.schemas)) expect(() => isA(name, {})).not.toThrow();
    expect(isA("OneTake", { policy: "api", key: ["ann", "192.0.2.1"], cost: 3, reserve: true })).toEqual([]);
    expect(isA("OneTake", { policy: "api", colour: 1 })).toHaveLength(1);
    expect(isA("SeveralTakes", { takes: [{ policy: "api", key: "a" }] })).toEqual([]);
  });
});

describe("a reservation", () => {
  it("of a leased and a shared policy, in two places, is settled where it was counted", async () => {
    const written = [
      { name: "near", consistency: "leased", limits: [{ limit: 100, window: "1h" }] },
      { name: "away", consistency: "shared", limits: [{ limit: 100, window: "1h", scope: "region" }] },
    ] as const;
    const away = memoryStore();
    let isDown = false;
    const take: Store["take"] = async (request) => {
      if (isDown) throw new StoreError("NETWORK");
      return await away.take(request);
    };
    const stores = [memoryStore(), { ...away, take }];
    const store = splitStore(stores, (key) => (key.includes("{near:") ? 0 : 1));
    const limiter = limiterOf(parsePolicies(written, "policies").value!, { store });
    const takes = written.map(({ name }) => ({ policy: name, key: "ann", cost: 10 }));
    const { stored } = await limiter.reserve(takes);
    const reservations = createReservations(store, { keySecret: "a-secret-of-these-tests", fallback: "" });
    const sealed = await reservations.open(await reservations.seal(stored, NOW_MS), NOW_MS + 1_000);
    if ("wrong" in sealed) throw new Error(sealed.wrong);
    isDown = true;
    await expect(reservations.settle(sealed, { near: 4, away: 12 })).rejects.toThrow("NETWORK");
    isDown = false;
    for (let i = 0; i < 2; i++) await reservations.settle(sealed, { near: 4, away: 12 });
    const found = [];
    for (const { receipt } of sealed.charges) {
      const look = { keys: [{ ...receipt, cost: 0 }], flag: Flag.look };
      found.push((await store.take(look)).keys[0]![0]!.view);
    }
    expect(found).toMatchObject([{ counts: [4, 0] }, { counts: [12, 0] }]);
  });

  const reserve = async (program: ReturnType<typeof programOf>, body: object) => {
    const { body: decided } = await program.take({ ...body, reserve: true });
    expect(isA("Decision", decided)).toEqual([]);
    return decided as { reservation: string; reserved: object };
  };

  it.each([
    [1, 4],
    [4, 1],
    [0, 5],
    [9, 0],
  ])("of 4 that has used %d leaves %d of 5, however often and with whatever it is settled", async (used, left) => {
    const program = programOf();
    const { reservation, reserved } = await reserve(program, { policy: "api", key: "ann", cost: 4 });
    expect(reserved).toEqual({ api: 4 });
    const first = await program.settle(reservation, used);
    expect([first.status, first.body]).toEqual([200, { settled: [{ policy: "api", reserved: 4, used }] }]);
    expect(isA("Settled", first.body)).toEqual([]);
    for (const again of [used, 0, 7]) expect((await program.settle(reservation, again)).body).toEqual(first.body);
    expect(await program.left("api", "ann")).toBe(left);
  });

  it("of several policies is settled by their names", async () => {
    const program = programOf();
    const takes = [
      { policy: "api", key: "ann", cost: 4 },
      { policy: "all", cost: 10 },
      { policy: "tried", key: "ann" },
      { policy: "constructor", key: "ann", cost: 2 },
    ];
    const one = await reserve(program, { takes });
    expect((await program.settle(one.reservation, { api: 1, none: 1 })).body.detail).toBe(
      "used.none: this reservation has only api, all, tried, constructor.",
    );
    expect((await program.settle(one.reservation, { api: 1 })).body.settled).toEqual([
      { policy: "api", reserved: 4, used: 1 },
      { policy: "all", reserved: 10, used: 10 },
      { policy: "tried", reserved: 1, used: 1 },
      { policy: "constructor", reserved: 2, used: 2 },
    ]);
    expect([
      await program.left("api", "ann"),
      (await program.take({ policy: "all", peek: true })).body.remaining,
    ]).toEqual([4, 90]);
  });

  it("of dollars counts in hundred-thousandths, reserves half of the limit at most, and asks no overflow", async () => {
    const program = programOf({ POLICIES: DOLLARS });
    const { reservation, reserved } = await reserve(program, { policy: "own", key: "ann", cost: 190_000 });
    expect([reserved, await program.left("own", "ann")]).toEqual([{ own: 100_000 }, 100_000]);
    await program.settle(reservation, 150_000);
    expect((await program.take({ policy: "own", key: "ann", cost: 50_001 })).status).toBe(429);
    expect([await program.left("own", "ann"), await program.left("pool", "ann")]).toEqual([50_000, 1_000_000]);
  });

  it("that is refused has no token", async () => {
    const program = programOf();
    const { reservation } = await reserve(program, { policy: "api", key: "ann", cost: 6 });
    expect(reservation).toBeUndefined();
  });

  it.each<[what: string, other: object, status: number]>([
    ["after a change of the token", { TAKE_TOKEN: `another-${TOKEN}` }, 200],
    [
      "with other limits",
      { POLICIES: [{ ...POLICIES[0], limits: [{ algorithm: "sliding-log", limit: 1, window: "1d" }] }] },
      200,
    ],
    ["without its policy", { POLICIES: DOLLARS }, 200],
    ["under another key secret", { KEY_SECRET: "another-secret-of-these-tests" }, 400],
    ["in another namespace", { NAMESPACE: "other" }, 400],
  ])("is settled by a gateway %s, or is not: %o", async (_, other, status) => {
    const { reservation } = await reserve(programOf(), { policy: "api", key: "ann", cost: 4 });
    const { TAKE_TOKEN = TOKEN } = other as { TAKE_TOKEN?: string };
    const settled = await programOf(other).post("/.headgate/settle", { reservation, used: 1 }, TAKE_TOKEN);
    expect(settled.status).toBe(status);
  });

  it("ends after 10 minutes, and cannot be changed or made up", async () => {
    const program = programOf();
    const { reservation } = await reserve(program, { policy: "api", key: "ann", cost: 4 });
    for (const other of [`${reservation.slice(0, -6)}AAAAAA`, "x", reservation.slice(0, 60)]) {
      const { status, body } = await program.settle(other, 0);
      expect([status, body.detail]).toEqual([400, expect.stringMatching(/^This is no reservation of this gateway/)]);
    }
    expect((await program.settle(reservation, -1)).status).toBe(422);
    // A clock that has stepped back must not settle twice: what was settled is known for 11 minutes.
    vi.setSystemTime(NOW_MS - 61_000);
    expect((await program.settle(reservation, 0)).status).toBe(400);
    vi.setSystemTime(NOW_MS + 601_000);
    const late = await program.settle(reservation, 0);
    expect([late.status, late.body.detail]).toEqual([400, expect.stringMatching(/^This reservation is older/)]);
    expect(await program.left("api", "ann")).toBe(1);
  });
});
