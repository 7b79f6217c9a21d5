/** What a request is expected to cost: by its head, by its body, and by what passes of a body longer than 1 MiB. */

import type { Meter } from "../../kernel/core/policy.ts";
import { MAX_BYTES, type RequestBody } from "../../kernel/request/request-body.ts";
import type { RequestHead } from "../../kernel/request/request-head.ts";
import { type Estimate, estimateBody } from "./llm/estimate.ts";
import { leastUnits, reservedUnits } from "./llm/units.ts";
import { flawOfHead, isFree } from "./unmetered.ts";

/** What a request costs, as far as its head tells: in any case, and if nobody could read its body. */
export function earlyUnits(request: RequestHead, meter: Meter): { readonly atLeast: number; readonly cost: number } {
  // What is refused anyway is refused for that.
  if (isFree(request) || flawOfHead(request) !== undefined) return { atLeast: 0, cost: 0 };
  const length = Math.min(Number(request.headers.get("Content-Length") ?? MAX_BYTES), MAX_BYTES);
  const estimate = estimateBody(request, { length, isClear: false })(meter.perImage);
  return { atLeast: length > 0 ? leastUnits(meter, estimate) : 0, cost: reservedUnits(meter, estimate) };
}

/**
 * What the body of a request lets expect. Only requests with a body have a cost under a meter. Others look at its
 * limits: they reach no model. The method does not matter: an origin may take another one as a POST.
 */
export class Expected {
  /** Whether the body is longer than 1 MiB. Nobody has read it: the rest is charged while it passes. */
  readonly isLonger: boolean;
  readonly #estimateBy: (perImage: number) => Estimate;
  /** Tokens of a longer body that have passed beyond its first 1 MiB. */
  #passed = 0;

  constructor(request: RequestHead, body: RequestBody) {
    this.isLonger = body.length > MAX_BYTES;
    this.#estimateBy = estimateBody(request, this.isLonger ? { ...body, length: MAX_BYTES } : body);
  }

  /** The estimate as a meter counts images. */
  estimate({ perImage }: Pick<Meter, "perImage">): Estimate {
    const estimate = this.#estimateBy(perImage);
    return this.#passed > 0 ? { ...estimate, inputTokens: estimate.inputTokens + this.#passed } : estimate;
  }

  /** The units to reserve. */
  units(meter: Meter): number {
    return reservedUnits(meter, this.estimate(meter));
  }

  /** More of the body has passed. */
  addPassed(tokens: number): void {
    this.#passed += tokens;
  }
}
