/** Reads the body of a request once, for all features that look at it. */

import type { Decision } from "../core/decision.ts";
import type { EarlyTake } from "../limiter/types.ts";
import { createLines } from "../lines.ts";
import { keepAlive } from "../place/taker.ts";
import { type RequestBody, readBody } from "../request/request-body.ts";
import type { RequestHead } from "../request/request-head.ts";
import { clientIsGone } from "./enforce.ts";
import type { BodyReader, Feature, Way, WayOptions } from "./feature.ts";
import { clientKey } from "./key.ts";
import type { Matched } from "./match.ts";
import type { Passage } from "./passage.ts";
import { ProblemType } from "./problem.ts";
import { type Reason, UNAVAILABLE } from "./refusal.ts";

/** How long a body waits until it may be read. Then its client gets 503. */
const TURN_MS = 10_000;

export const body: Feature = {
  name: "body",
  around(inner, options, way) {
    const readersFor = readersOf(options);
    const { costs } = options.features.find((one) => one.costs) ?? {};
    return {
      async enter(passage) {
        const readers = readersFor(passage);
        if (readers.length === 0 || passage.request.body === null) return await inner.enter(passage);
        const note = (read: RequestBody) => {
          for (const reader of readers) reader.read(passage, read);
        };
        // The cost that a program computes may depend on the body.
        const mayAsk = costs !== "perhapsByBody";
        const refusal = mayAsk && (await refusalOf(passage, readers, inner, options, costs === "known"));
        if (refusal) {
          note({ length: 1, isClear: false });
          return await way.answer(passage, refusal);
        }
        const client = clientOf(passage, options);
        const reading = readBody(await passage.unread(), { client, waitMs: TURN_MS });
        // Workerd forgets the work of a request whose client has left, unless the background has it: reads are counted.
        const read = await keepAlive(reading, passage.background);
        // The client has left while its body was read.
        if (passage.isGone()) return clientIsGone();
        note(read);
        return read.failure ? await notRead(passage, read.failure, way) : await inner.enter(passage);
      },
    };
  },
};

/** Who looks at the body of a request: of the features that are on the way. */
export function readersOf(options: WayOptions): (passage: Passage) => readonly BodyReader[] {
  const readers = options.features.flatMap((one) => one.body ?? []);
  return ({ matched }) => readers.filter((one) => matched.some(({ policy }) => one.looksAt(policy)));
}

/** The refusal of a request that is surely refused, whatever its body. Absent: its body has to be read. */
async function refusalOf(
  passage: Passage,
  readers: readonly BodyReader[],
  inner: Way,
  { limiter }: WayOptions,
  isOwnCost: boolean,
): Promise<Decision | undefined> {
  const { request, matched, region, background } = passage;
  const early = matched
    .filter(({ policy }) => !policy.chain)
    .map((one) => ({ ...one, ...earlyOf(request, one, readers) }))
    .filter(({ atLeast }) => atLeast > 0);
  if (early.length === 0) return undefined;
  const takes = await inner.ask(passage, early);
  const known = takes.flatMap((take, i): EarlyTake[] => {
    const atLeast = isOwnCost ? take.cost : early[i]!.atLeast;
    return atLeast > 0 ? [{ ...take, atLeast }] : [];
  });
  const decision = known.length > 0 ? await limiter.refuseMatched(known, region, background) : undefined;
  return decision?.allowed ? undefined : decision;
}

/** What a request costs under a policy, as far as its head tells. */
function earlyOf(
  request: RequestHead,
  { policy, cost, costBy, atLeast = cost }: Matched,
  readers: readonly BodyReader[],
): Pick<EarlyTake, "cost" | "atLeast"> {
  const isPerhapsFree = costBy && atLeast === 0;
  if (isPerhapsFree) return { cost, atLeast };
  const early = readers.flatMap((one) => (one.looksAt(policy) && one.early?.(request, policy)) || []);
  // What one of them cannot tell, nobody can.
  return early.toSorted((a, b) => a.atLeast - b.atLeast)[0] ?? { cost, atLeast };
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

/** The body of the request was not read, and nothing was charged. */
const NOT_READ: Readonly<Record<NonNullable<RequestBody["failure"]>, Reason>> = {
  slow: {
    ...UNAVAILABLE,
    problem: {
      type: ProblemType.blank,
      title: "Request Timeout",
      status: 408,
      detail: "The body of the request arrives too slowly.",
    },
  },
  busy: {
    ...UNAVAILABLE,
    problem: { ...UNAVAILABLE.problem, detail: "Too many other bodies are being read at the moment." },
  },
};

/** The answer to a request whose body could not be read. */
export async function notRead(passage: Passage, failure: keyof typeof NOT_READ, way: Way): Promise<Response> {
  write(() => ({ event: "body-not-read", at: new Date().toISOString(), failure }));
  return await way.refuse(passage, NOT_READ[failure]);
}
