// The way in as a function, with all features.

import { allFeatures } from "../../../src/features/all.ts";
import { createWay } from "../../../src/http/enforce.ts";
import type { WayOptions } from "../../../src/http/feature.ts";
import { DEFAULTS } from "../../../src/http/features/default.ts";
import { FetchPassage, type Given, type Next } from "../../../src/http/passage.ts";
import type { Background } from "../../../src/limiter.ts";

export function createEnforce(options: Omit<WayOptions, "features">) {
  const optional = allFeatures().flatMap(({ http }) => http ?? []);
  const { enter } = createWay({ ...options, features: [...DEFAULTS, ...new Set(optional)] });
  return (request: Request, next: Next, background?: Background, given?: Given) =>
    enter(new FetchPassage(request, next, { background, ...given }));
}
