/** Policies with a `meter`: an estimate is reserved, and settled when the answer has told what was used. */

import { algorithmOf } from "../../kernel/core/algorithms.ts";
import type { PartOf } from "../../kernel/limiter/part.ts";

export const meter: PartOf = {
  name: "meter",
  isUsed: ({ meter }) => meter !== undefined,
  make: () => ({
    /** At most half of what can ever pass, and at least 1. */
    reserves({ policy: { meter, limits }, cost }) {
      if (!meter) return undefined;
      const most = Math.min(...limits.map((limit) => algorithmOf(limit).quota(limit).quota));
      return Math.min(cost, Math.max(1, Math.floor(most / 2)));
    },
  }),
};
