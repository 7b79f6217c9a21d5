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
    leased: "Units are taken ahead of demand, never more than the limit; fewer units may be left than is shown",
  },
};
