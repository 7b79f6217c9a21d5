// A log whose requests have ids: repeats are charged once, as the gateway does it.

import { expect, it } from "vitest";
import { API, recordedAt, requestAt, run } from "./logs.ts";

const POLICY = { ...API, once: "header:idempotency-key", onceFor: "10s", limits: [{ limit: 2, window: "1h" }] };
const idAt = (afterMs: number, id: string, more: object = {}) =>
  requestAt(afterMs, { headers: { "Idempotency-Key": id }, ...more });

it("charges an id once for each method, path and client, until it ends", async () => {
  const entries = [
    idAt(0, "a"),
    idAt(1, "a", { url: "https://api.example.com/v1/other" }),
    // Both are full now.
    ...[idAt(2, "a"), idAt(3, "a"), idAt(4, "a")],
    idAt(5, "a", { method: "POST" }),
    idAt(6, "a", { ip: "192.0.2.2" }),
    idAt(7, "a", { ip: "192.0.2.2", url: "https://api.example.com/v1/THINGS?page=9" }),
    idAt(10_006, "a", { ip: "192.0.2.2" }),
    idAt(10_007, "b", { ip: "192.0.2.2" }),
  ];
  const { configurations, notes } = await run(entries, [POLICY]);
  expect(configurations[0]!.policies[0]).toMatchObject({ requests: 10, refused: 3, units: 7, refusedUnits: 3 });
  expect(notes).toEqual([]);
});

it("knows the ids of recorded lines, and says so if they have none", async () => {
  const log = { isRecorded: true };
  const line = (afterMs: number, allowed: boolean, once?: string) =>
    recordedAt(afterMs, [{ policy: "api", ...(once !== undefined && { once }) }], { allowed });
  const named = [line(0, true, "a"), line(1, true, "b"), line(2, true, "a"), line(3, false, "c"), line(4, true, "b")];
  const known = await run(named, [POLICY], { log });
  expect(known.notes).toEqual([expect.stringContaining("all of 5 decisions")]);
  const unnamed = await run([line(0, true), line(1, true), line(2, false)], [POLICY], { log });
  expect(unnamed.notes).toEqual([
    "wrangler.toml: api is replayed as if no request had an id, because no request of the log has one",
    expect.stringContaining("all of 3 decisions"),
  ]);
});

it("does not replay the policy if the log lacks the field", async () => {
  const lacking = { "key header:idempotency-key": "the header" };
  const { configurations } = await run([idAt(0, "a")], [POLICY], { log: { lacking } });
  expect(configurations[0]!.skipped).toMatchObject([
    { policy: "api", reason: "its once header:idempotency-key needs the header, which the log does not have" },
  ]);
});

it("forgets ids that have ended", async () => {
  const entries = Array.from({ length: 2_000 }, (_, i) => idAt(i * 100, `id-${i % 1_000}`));
  const policy = { ...POLICY, onceFor: "1s", limits: [{ limit: 1_000_000, window: "1h" }] };
  const { configurations } = await run(entries, [policy]);
  // Each id comes again 100 s later.
  expect(configurations[0]!.policies[0]).toMatchObject({ requests: 2_000, units: 2_000 });
});
