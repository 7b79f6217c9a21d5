/** Units that an isolate takes ahead of demand. */

import type { AddedFields } from "./field.ts";
import { expectLeasable } from "./leasable.ts";

export const leasesFields = {
  consistency: "leased",
  own: {
    fields: {},
    beside(checked) {
      if (checked.written.consistency === "leased") expectLeasable(checked);
    },
  },
} as const satisfies AddedFields;
