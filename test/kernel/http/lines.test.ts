// What clients or an origin can cause must not flood the log: a bounded number of lines, of a bounded length.

import { beforeEach, expect, it, vi } from "vitest";
import { createLiveReader } from "../../../src/features/live/reader.ts";
import type { Decision } from "../../../src/kernel/core/decision.ts";
import type { Policy } from "../../../src/kernel/core/policy.ts";
import { createForward, createLoopGuard } from "../../../src/kernel/http/origin.ts";
import { tellAll } from "../../../src/kernel/limiter/on-decision.ts";
import { durableObjectPlace } from "../../../src/kernel/store/durable-object-place.ts";
import { failureOf } from "../../../src/kernel/store/failure.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { orRejected } from "../../../src/kernel/store/rejected.ts";
import { createLimiter } from "../../../src/limiter.ts";
import { createGate, WRONG_TOKEN_POLICIES } from "../../../src/operate/admin/gate.ts";
import { serveMetrics } from "../../../src/operate/admin/serve-admin.ts";

const written: unknown[][] = [];

beforeEach(() => {
  written.length = 0;
  vi.useFakeTimers({ now: 1_795_236_487_000, toFake: ["Date"] });
  for (const level of ["log", "warn", "error"] as const) {
    vi.spyOn(console, level).mockImplementation((...line) => void written.push(line));
  }
});

const LONG = "x".repeat(100_000);
const request = new Request("https://a.example/");
type Flood = (i: number) => unknown;
const throwing = (error: Error) => () => {
  throw error;
};

it.each<[event: string, flood: () => Flood, perSecond?: number]>([
  [
    "admin-refused",
    () => {
      const wrongTokens = createLimiter({ policies: WRONG_TOKEN_POLICIES, store: memoryStore() });
      const gate = createGate({ token: "a token of an admin, long enough" }, wrongTokens, undefined);
      return (i) => {
        const headers = { Authorization: "Bearer wrong", "CF-Connecting-IP": `192.0.${i >> 8}.${i & 255}` };
        return gate(new Request("https://a.example/.headgate/admin/live", { headers }));
      };
    },
  ],
  [
    "origin-error",
    () => {
      const service = { fetch: () => Promise.reject(new Error(LONG)) };
      const forward = createForward({ kind: "service", service }, 0, createLoopGuard());
      return () => forward(request);
    },
  ],
  [
    "origin-loop",
    () => {
      const guard = createLoopGuard();
      const headers = new Headers();
      guard.mark(headers);
      return () => guard.refuse(new Request(`https://a.example/${LONG}`, { headers }));
    },
  ],
  [
    "stats-unread",
    () => {
      const stats = { totals: () => Promise.reject(new Error(LONG)) };
      const gate = async () => ({ by: "token", hasToken: true });
      const serve = serveMetrics(stats as never, gate, "1");
      return () => serve({ req: { raw: request } } as never);
    },
  ],
  [
    "onDecision threw",
    () => {
      const tell = tellAll([throwing(new Error("a bug of the program"))]);
      return () => tell({} as Decision, {} as never);
    },
  ],
  ["the store threw", () => () => failureOf(new Error("a bug of somebody's store"))],
  ["the object failed on one request", () => () => orRejected(throwing(new RangeError("a bug of the object")))],
  [
    "the object rejected a request",
    () => {
      let i = 0;
      const object = { take: async () => ({ rejected: `take: keys[${i++ % 2}]: expected something else` }) };
      const place = durableObjectPlace({ idFromName: () => "an id", get: () => object } as never);
      return () => place.take({ keys: [], flag: 0 }).catch(() => {});
    },
    1,
  ],
  [
    "live",
    () => {
      let version = 0;
      const text = JSON.stringify({ policies: { [LONG]: {} }, overrides: [] });
      const storage = { read: async () => ({ version: ++version, text }), write: async () => undefined };
      const rest = { policies: [], secret: async () => "", numbers: (policy: Policy) => policy };
      const reader = createLiveReader({ storage, refreshMs: 30_000, timeoutMs: 250, ...rest });
      return () => reader.refresh();
    },
  ],
])(
  "%s: a bounded number of lines a second, and the next says how many were left out",
  async (event, flood, most = 10) => {
    const cause = flood();
    for (let i = 0; i < 1_000; i++) await cause(i);
    expect(written.map(([line]) => String(line).slice(0, 300)).filter((line) => !line.includes(event))).toEqual([]);
    expect(written).toHaveLength(most);
    vi.setSystemTime(Date.now() + 1_000);
    await cause(1_001);
    const lines = written.map(([line]) => String(line));
    expect(lines).toEqual(Array(most + 1).fill(expect.stringContaining(event)));
    expect(lines[most]).toMatch(new RegExp(`"suppressed":${1_000 - most}\\b|${1_000 - most} times`));
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(2_000);
  },
);
