/** Units that an isolate takes ahead of demand. */

import { expectLeasable } from "../../kernel/config/fields/consistency.ts";
import type { AddedFields, ClientWords } from "../../kernel/config/fields/field.ts";

export const leasesFields = {
  consistency: "leased",
  own: {
    fields: {},
    beside(checked) {
      if (checked.written.consistency === "leased") expectLeasable(checked);
    },
  },
} as const satisfies AddedFields;

export const leasesWords: ClientWords = {
  consistency: {
    leased: "The limit is handed out ahead of demand and never exceeded; less may be left than is shown",
  },
};
