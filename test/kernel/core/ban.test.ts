// When a ban begins, by an oracle that keeps every refusal, and for how long it lasts.

import fc from "fast-check";
import { expect, it } from "vitest";
import { type BanLimit, type BanRecord, ban } from "../../../src/kernel/core/ban.ts";
import { Kind } from "../../../src/kernel/core/layout.ts";
import { draws } from "../../support/cases/draws.ts";

const START_MS = 1_800_000_000_000;

const limit = fc.record<BanLimit>({
  kind: fc.constant(Kind.ban),
  limit: fc.constantFrom(1, 2, 5, 20),
  withinMs: fc.constantFrom(1_000, 60_000, 600_001),
  forMs: fc.array(fc.constantFrom(1_000, 5_000, 3_600_000), { minLength: 1, maxLength: 4 }),
});
/** Thousandths of `within` after the one before, and how many at once. */
const reports = fc.array(
  fc.tuple(fc.constantFrom(0, 1, 60, 125, 126, 300, 1_000, 5_000), fc.integer({ min: 1, max: 4 })),
  {
    minLength: 1,
    maxLength: 40,
    size: "max",
  },
);

it("begins with enough refusals within the time, at the latest within seven eighths, and each lasts as told", () => {
  fc.assert(
    fc.property(limit, reports, (limit, reports) => {
      const { limit: after, withinMs, forMs } = limit;
      let stored: BanRecord | undefined;
      let seen: { atMs: number; refusals: number }[] = [];
      let [bans, endsAtMs, nowMs] = [0, 0, START_MS];
      for (const [part, refusals] of reports) {
        nowMs += Math.floor((part * withinMs) / 1_000);
        if (bans > 0 && endsAtMs + Math.max(...forMs) <= nowMs) bans = 0;
        const before = ban.read(stored, undefined, limit, nowMs);
        expect(ban.admits(before, limit, 0, nowMs)).toBe(endsAtMs <= nowMs);
        stored = ban.charge(before, limit, refusals, { nowMs, atMs: 0, slot: 0 });
        if (endsAtMs > nowMs) {
          expect(stored).toBe(before);
          continue;
        }
        seen.push({ atMs: nowMs, refusals });
        const within = (ms: number) => seen.reduce((sum, one) => sum + (one.atMs > nowMs - ms ? one.refusals : 0), 0);
        const hasBegun = stored.endsAtMs > nowMs;
        if (within(withinMs) < after) expect(hasBegun).toBe(false);
        if (within((withinMs * 7) / 8) >= after) expect(hasBegun).toBe(true);
        if (!hasBegun) continue;
        seen = [];
        endsAtMs = nowMs + forMs[Math.min(bans++, forMs.length - 1)]!;
        expect(stored.endsAtMs).toBe(endsAtMs);
        expect(ban.resetAfterMs(stored, limit, nowMs)).toBe(endsAtMs - nowMs + Math.max(...forMs));
      }
    }),
    draws(300),
  );
});
