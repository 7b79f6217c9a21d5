// The way in as a function, with all features.

import { createWay } from "../../../src/http/enforce.ts";
import type { WayOptions } from "../../../src/http/feature.ts";
import { FEATURES } from "../../../src/http/features/index.ts";
import { FetchPassage, type Given, type Next } from "../../../src/http/passage.ts";
import type { Background } from "../../../src/limiter.ts";

export function createEnforce(options: Omit<WayOptions, "features">) {
  const { enter } = createWay({ ...options, features: FEATURES });
  return (request: Request, next: Next, background?: Background, given?: Given) =>
    enter(new FetchPassage(request, next, { background, ...given }));
}
