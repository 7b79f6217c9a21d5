/** What a policy has whatever it counts: its name, and what it does without its store or in shadow. */

import type { FeatureFields } from "./field.ts";

/** Also that of another policy, as `overflow` names it. */
export const NAME_FORM = /^[a-z0-9][a-z0-9-]{0,31}$/;

export const name = {
  fields: {
    name: { is: "text", form: NAME_FORM, expected: "1 to 32 of a-z, 0-9 and -, not beginning with -" },
  },
} as const satisfies FeatureFields;

export const mode = {
  fields: {
    mode: { is: "word", words: ["enforce", "shadow"], default: "enforce", isOfHead: true },
    onStoreFailure: { is: "word", words: ["local", "allow", "deny"], default: "local", isOfHead: true },
    documented: { is: "flag", default: true },
  },
} as const satisfies FeatureFields;

/** For clients: what happens while the store does not answer. */
export const STORE_FAILURE_MEANINGS = {
  local: "each location continues to limit, with its own counts",
  allow: "requests are not limited until it answers again",
  deny: "requests are refused with 503 and Retry-After",
};
