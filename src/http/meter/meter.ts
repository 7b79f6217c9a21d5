/** The door of this folder: requests under policies whose cost is known only after the answer (docs/llm.md). */

import type { Meter } from "../../core/policy.ts";
import type { Background, Reservation } from "../../limiter.ts";
import { type Estimate, LONG_READ_BYTES, readEstimate } from "../../llm/estimate.ts";
import { reservedUnits } from "../../llm/units.ts";
import type { Asked } from "../links.ts";
import type { OnSettled } from "./log-tokens.ts";
import { type Settling, settling } from "./settling.ts";

/** A request whose body was read for an estimate. */
export interface MeteredRequest {
  /** The units to reserve under a policy with a meter. */
  unitsOf(meter: Meter): number;
  /** Sends the request on, and settles. The request has the same body, and asks for an answer that can be read. */
  settling(reservation: Reservation): Settling;
}

/**
 * Only requests with a body have a cost under a meter. Others look at its limits: they reach no model. The method does
 * not matter: an origin may take another one, or an override of it, as a POST.
 */
export function isMetered({ body }: Request): boolean {
  return body !== null;
}

/**
 * How many bodies this isolate reads at once up to 1 MiB. Further ones are read up to 16 KiB: clients that send slowly
 * must not fill the 128 MB of an isolate before any limit is asked.
 */
const MAX_LONG_READS = 32;
const SHORT_READ_BYTES = 16 * 1024;

let longReads = 0;

/** Reads the beginning of the body, and makes the same request again. @param asked the policies of the request. */
export async function readMetered(
  asked: readonly Asked[],
  request: Request,
  background: Background | undefined,
  listeners: readonly OnSettled[],
): Promise<MeteredRequest> {
  const meters = new Map(asked.flatMap(({ policy: { name, meter } }) => (meter ? [[name, meter]] : [])));
  const heads = headsOf(asked);
  const reading = read(request);
  // Workerd forgets the work of a request whose client has left, unless the background has it: this counts reads.
  background?.waitUntil(reading);
  const estimateBy = await reading;
  const estimateOf = ({ perImage }: Meter) => estimateBy(perImage);

  return {
    unitsOf: (meter) => reservedUnits(meter, estimateOf(meter)),
    settling(reservation) {
      return settling(reservation, {
        request,
        signal: request.signal,
        meters,
        estimateOf,
        headOf: (policy) => heads.get(policy) ?? policy,
        onSettled: (answer) => {
          for (const listener of listeners) listener(answer, background);
        },
      });
    },
  };
}

/** By the name of a policy, the policy that the request matched: the same, or the head of its chain. */
function headsOf(asked: readonly Asked[]): ReadonlyMap<string, string> {
  let head = "";
  return new Map(
    asked.map(({ policy: { name }, link }) => {
      if (!link) head = name;
      return [name, head];
    }),
  );
}

/** @returns an estimate for each `perImage`. */
async function read(request: Request): Promise<(perImage: number) => Estimate> {
  const maxBytes = longReads < MAX_LONG_READS ? LONG_READ_BYTES : SHORT_READ_BYTES;
  longReads++;
  try {
    return await readEstimate(request, maxBytes);
  } finally {
    longReads--;
  }
}
