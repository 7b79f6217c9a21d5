/** The door of this folder: requests under policies whose cost is known only after the answer (docs/llm.md). */

import type { Meter } from "../../core/policy.ts";
import type { Background, Reservation } from "../../limiter.ts";
import type { Estimate } from "../../llm/estimate.ts";
import { type AskFor, changeableModel } from "../../llm/other-model.ts";
import { reservedUnits } from "../../llm/units.ts";
import { MAX_BYTES } from "../../request-body.ts";
import type { Asked } from "../links.ts";
import type { OnSettled } from "./log-tokens.ts";
import { type Settling, settling } from "./settling.ts";

/** A request whose body was read for an estimate. */
export interface MeteredRequest {
  /** Whether the request can ask for another model. True also if no policy would need it. */
  readonly canChangeModel: boolean;
  /** The units to reserve under a policy with a meter. @param model instead of the request's own. */
  unitsOf(meter: Meter, model?: string): number;
  /**
   * Sends the request on, and settles. The request has the same body, and asks for an answer that can be read.
   *
   * @param model that the request asks for instead of its own.
   */
  settling(reservation: Reservation, model?: string): Settling;
}

/**
 * Only requests with a body have a cost under a meter. Others look at its limits: they reach no model. The method does
 * not matter: an origin may take another one, or an override of it, as a POST.
 */
export function isMetered({ body }: Request): boolean {
  return body !== null;
}

/**
 * @param asked the policies of the request. @param request with a body that can be sent on.
 * @param estimateBy the estimate of its body by what an image counts as.
 */
export async function meteredRequest(
  asked: readonly Asked[],
  request: Request,
  estimateBy: (perImage: number) => Estimate,
  background: Background | undefined,
  listeners: readonly OnSettled[],
): Promise<MeteredRequest> {
  const meters = new Map(asked.flatMap(({ policy: { name, meter } }) => (meter ? [[name, meter]] : [])));
  const heads = headsOf(asked);
  const changes = asked.some(({ model }) => model !== undefined);
  const askFor: AskFor | undefined = changes ? await changeableModel(request, MAX_BYTES) : () => request;
  const estimateOf = ({ perImage }: Meter, model?: string): Estimate => {
    const estimate = estimateBy(perImage);
    return model === undefined ? estimate : { ...estimate, model };
  };

  return {
    canChangeModel: askFor !== undefined,
    unitsOf: (meter, model) => reservedUnits(meter, estimateOf(meter, model)),
    settling(reservation, model) {
      return settling(reservation, {
        request: model === undefined ? request : askFor!(model),
        signal: request.signal,
        meters,
        estimateOf: (meter) => estimateOf(meter, model),
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
