/** Policies with `fold`: whoever names a client, a request or a program, its spellings are one. */

import type { PartOf } from "../../kernel/limiter/part.ts";
import { foldedKey } from "./fold.ts";

export const fold: PartOf = {
  name: "fold",
  isUsed: ({ fold }) => fold !== undefined,
  make: (hash) => ({
    apply(applied, { policy, key }) {
      if (policy.fold) applied.partition = hash(foldedKey(key));
    },
  }),
};
