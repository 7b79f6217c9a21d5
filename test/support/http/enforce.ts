// The way in as a function, with all features.

import { DEFAULTS } from "../../../src/features/default.ts";
import { allFeatures } from "../../../src/features/index.ts";
import { inOrder } from "../../../src/features/order.ts";
import { createWay } from "../../../src/kernel/http/enforce.ts";
import type { WayOptions } from "../../../src/kernel/http/feature.ts";
import { FetchPassage, type Next, type PassageOptions } from "../../../src/kernel/http/passage.ts";
import type { Background } from "../../../src/limiter.ts";

export function createEnforce(options: Omit<WayOptions, "features">) {
  const optional = allFeatures().flatMap(({ http }) => http ?? []);
  const { enter } = createWay({ ...options, features: inOrder([...DEFAULTS, ...optional]) });
  return async (request: Request, next: Next, background?: Background, given?: PassageOptions) =>
    await enter(new FetchPassage(request, next, { background, ...given }));
}
