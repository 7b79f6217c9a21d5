/** Units that an isolate takes ahead of demand. */

import type { AddedFields } from "../../kernel/config/fields/field.ts";
import { expectLeasable } from "../../kernel/config/fields/leasable.ts";

export const leasesFields = {
  consistency: "leased",
  own: {
    fields: {},
    beside(checked) {
      if (checked.written.consistency === "leased") expectLeasable(checked);
    },
  },
} as const satisfies AddedFields;
