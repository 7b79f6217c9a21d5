/** Reads the body of a request once, for all policies that look at it: those with `tool`, `rpc` or a meter. */

import { callsOf, UNREAD } from "../../json-rpc/calls.ts";
import type { EarlyTake } from "../../limiter.ts";
import { createLines } from "../../lines.ts";
import { estimateBody } from "../../llm/estimate.ts";
import { MAX_BYTES, type RequestBody, readBody } from "../../request-body.ts";
import { clientIsGone } from "../enforce.ts";
import type { Feature, Way, WayOptions } from "../feature.ts";
import { clientKey } from "../key.ts";
import { needsCalls, readsCalls } from "../match.ts";
import { earlyUnits } from "../meter/meter.ts";
import type { Passage } from "../passage.ts";
import { NOT_READ } from "../refusal.ts";

declare module "../passage.ts" {
  interface Passage {
    /** What was read of its body. Absent: no policy looks at it, or there is none. */
    body?: ReturnType<typeof meaningOf>;
  }
}

/** How long a body waits until it may be read. Then its client gets 503. */
const TURN_MS = 10_000;

export const body: Feature = {
  isUsed: (policies) => policies.some((policy) => policy.meter || readsCalls(policy)),
  around: (inner, options, way) => ({
    async enter(passage) {
      const { request, matched, background } = passage;
      const isLookedAt = needsCalls(matched) || matched.some(({ policy }) => policy.meter);
      if (request.body === null || !isLookedAt) return await inner.enter(passage);
      // The cost that a program computes may depend on the body.
      if (typeof options.rules?.cost !== "function") {
        const refused = await refuseUnread(passage, inner, options, way);
        if (refused) return refused;
      }
      const client = clientOf(passage, options);
      const reading = readBody(await passage.unread(), { client, waitMs: TURN_MS });
      // Workerd forgets the work of a request whose client has left, unless the background has it: reads are counted.
      background?.waitUntil(reading);
      const read = await reading;
      // The client has left while its body was read.
      if (passage.isGone()) return clientIsGone();
      if (read.failure) return await notRead(passage, read.failure, way);
      passage.body = meaningOf(request, read);
      return await inner.enter(passage);
    },
  }),
};

/** The answer to a request that is surely refused, whatever its body. Absent: its body has to be read. */
async function refuseUnread(
  passage: Passage,
  inner: Way,
  { limiter, rules }: WayOptions,
  way: Way,
): Promise<Response | undefined> {
  const { request, matched, region, background } = passage;
  const early = matched
    .filter(({ policy }) => !policy.chain)
    .map((one) => ({ ...one, ...earlyUnits(request, one) }))
    .filter(({ atLeast }) => atLeast > 0);
  if (early.length === 0) return undefined;
  const takes = await inner.ask(passage, early);
  const known = takes.flatMap((take, i): EarlyTake[] => {
    const atLeast = rules?.cost === undefined ? early[i]!.atLeast : take.cost;
    return atLeast > 0 ? [{ ...take, atLeast }] : [];
  });
  const decision = known.length > 0 ? await limiter.refuseMatched(known, region, background) : undefined;
  if (!decision || decision.allowed) return undefined;
  noteUnread(passage);
  return await way.answer(passage, decision);
}

/** The client whose share of the isolate a body takes. undefined: nobody knows. */
function clientOf({ request, address }: Passage, { limiter }: WayOptions): string | undefined {
  try {
    return clientKey(["ip"], request, () => "", limiter.ipv6Prefix, address).values.join();
  } catch {
    // The program has not said where the address is, and no policy counts by it.
    return undefined;
  }
}

const write = createLines();

/** The answer to a request whose body could not be read. */
export async function notRead(passage: Passage, failure: keyof typeof NOT_READ, way: Way): Promise<Response> {
  write(() => ({ event: "body-not-read", at: new Date().toISOString(), failure }));
  noteUnread(passage);
  return await way.refuse(passage, NOT_READ[failure]);
}

/** Nobody knows what a body calls that was not read. */
function noteUnread(passage: Passage): void {
  passage.calls = needsCalls(passage.matched) ? UNREAD : undefined;
}

/** What the body says to the policies that look at it. It is read once, and not kept. */
function meaningOf(request: Request, read: RequestBody) {
  const isLonger = read.length > MAX_BYTES;
  // What follows is charged while it passes.
  const estimateBy = estimateBody(request, isLonger ? { ...read, length: MAX_BYTES } : read);
  return { calls: callsOf(read), estimateBy, isLonger };
}
