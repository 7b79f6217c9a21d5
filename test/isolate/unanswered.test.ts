// Calls of this isolate that have not been answered.

import { expect, it } from "vitest";
import { Kind } from "../../src/core/algorithm.ts";
import { trackUnanswered } from "../../src/isolate/fallback/unanswered.ts";
import { keyRequest } from "../support/gateway/counter.ts";

const request = () => keyRequest("k", [{ kind: Kind.fixedWindow, limit: 100, windowMs: 60_000 }]);

it("requests that their runtime ended do not pile up under a busy key", () => {
  const unanswered = trackUnanswered();
  for (let i = 0; i < 100; i++) unanswered.begin([request()], i);
  unanswered.begin([request()], 20_000);
  // The clock has stepped back: any call that is still remembered would count.
  expect(unanswered.beside([request()], 5_000)).toEqual([]);
});

it("a call is remembered for longer than the two budgets within which its answer may come", () => {
  const BUDGET_MS = 30_000;
  const unanswered = trackUnanswered(BUDGET_MS);
  unanswered.begin([request()], 0);
  expect(unanswered.beside([request()], 2 * BUDGET_MS + 2_000)).toMatchObject([{ units: 1, requests: 1 }]);
  expect(unanswered.beside([request()], 2 * BUDGET_MS + 10_000)).toEqual([]);
});

it("a request counts the units of a call that are for other requests", () => {
  const unanswered = trackUnanswered();
  const [caller, other] = [request(), request()];
  unanswered.begin([{ ...caller, cost: 10 }], 0, [{ key: caller, needed: 4 }]);
  expect(unanswered.beside([caller], 1)).toMatchObject([{ units: 6, requests: 1 }]);
  expect(unanswered.beside([other], 1)).toMatchObject([{ units: 10, requests: 1 }]);
  unanswered.counted(caller);
  expect(unanswered.beside([other], 1)).toMatchObject([{ units: 6, requests: 1 }]);
});
