// What this isolate has sent and nobody has ended.

import { expect, it } from "vitest";
import { Kind } from "../../src/core/algorithm.ts";
import { trackUnanswered } from "../../src/isolate/fallback/unanswered.ts";
import { keyRequest } from "../support/gateway/counter.ts";

const request = () => keyRequest("k", [{ kind: Kind.fixedWindow, limit: 100, windowMs: 60_000 }]);

it("requests that their runtime ended do not pile up under a busy key", () => {
  const unanswered = trackUnanswered();
  for (let i = 0; i < 100; i++) unanswered.begin([request()], i);
  unanswered.begin([request()], 20_000);
  // As if the clock had stepped back: whatever is still there would count.
  expect(unanswered.beside([request()], 5_000)).toEqual([]);
});
