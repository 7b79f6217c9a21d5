/** Keys that ignore case, width and spaces. */

import type { ClientWords, FeatureFields } from "../../kernel/config/fields/field.ts";
import { isFolded } from "./fold.ts";

export const foldFields = {
  fields: {
    fold: { is: "flag", default: false },
  },
  beside({ values, written, wrong }) {
    const { fold, key } = values;
    if (!fold || key === undefined || key.some((kind: string) => kind.split("+").some(isFolded))) return;
    const expected = "a key with header:, cookie:, query: or body: beside fold, which changes only these";
    wrong("ERR_POLICY_FOLD", "fold", expected, written.fold);
  },
  compile: ({ fold }) => (fold ? { fold } : {}),
  write: ({ fold }) => (fold ? { fold } : {}),
} as const satisfies FeatureFields;

export const foldWords = {
  tell: ({ fold }) =>
    fold && {
      fold: { meaning: "clients whose names differ only in case, in width or in spaces around them count as one" },
    },
  say: ({ fold }) => ({ costs: fold?.meaning }),
} as const satisfies ClientWords;
