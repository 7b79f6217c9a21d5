// The way in as a function, with all features.

import { countedTwice } from "../../../src/features/counted-twice/counted-twice.ts";
import { DEFAULTS } from "../../../src/features/default.ts";
import { allFeatures } from "../../../src/features/index.ts";
import type { OnSettled } from "../../../src/features/meter/settled.ts";
import { inOrder } from "../../../src/features/order.ts";
import { type OwnRules, ruledBy } from "../../../src/features/rules/rules.ts";
import { keepAtOrigin, slots } from "../../../src/features/slots/slots.ts";
import { createWay } from "../../../src/kernel/http/enforce.ts";
import type { WayOptions } from "../../../src/kernel/http/feature.ts";
import { FetchPassage, type Next, type PassageOptions } from "../../../src/kernel/http/passage.ts";
import type { Background } from "../../../src/limiter.ts";

interface Options<C> extends Omit<WayOptions, "features"> {
  readonly rules?: OwnRules<C>;
  readonly isGateway?: true;
  readonly onSettled?: readonly OnSettled[];
}

export function createEnforce<C = Request>({ rules, isGateway, onSettled = [], ...options }: Options<C>) {
  const optional = allFeatures(onSettled).flatMap(({ http }) => http ?? []);
  const own = [slots(isGateway && keepAtOrigin), ...(rules ? [countedTwice, ...ruledBy(rules)] : [])];
  const { enter } = createWay({ ...options, features: inOrder([...own, ...DEFAULTS, ...optional]) });
  return async (request: Request, next: Next, background?: Background, given?: PassageOptions) =>
    await enter(new FetchPassage(request, next, { background, ...given }));
}
