/** Policies with a `meter`: an estimate is reserved, and settled when the answer has told what was used. */

import { algorithmOf } from "../../kernel/core/algorithms.ts";
import type { PartOf } from "../../kernel/limiter/part.ts";
import { unmeteredUnits } from "./unmetered.ts";

export const meter: PartOf = {
  name: "meter",
  isUsed: ({ meter }) => meter !== undefined,
  make: () => ({
    /** At most half of what can ever pass, and at least 1. All of a stated cost: it's no estimate. */
    reserves({ policy: { meter, limits }, cost }) {
      if (!meter) return undefined;
      if (cost === unmeteredUnits(meter)) return cost;
      const most = Math.min(...limits.map((limit) => algorithmOf(limit).quota(limit).quota));
      return Math.min(cost, Math.max(1, Math.floor(most / 2)));
    },
  }),
};
