// A value of every kind of field of the live document, for the policy `api` of the fake gateway.

import type { Field } from "../../../src/features/live/fields.ts";

interface Sample {
  readonly value: unknown;
  /** The words behind the option, or the command, that give this value. */
  readonly words: readonly string[];
  /** What nobody may write. */
  readonly wrong: unknown;
}

/** A kind without a sample is an error of types. */
export function sampleOf(field: Field): Sample {
  switch (field.is) {
    case "numbers":
      return { value: { "api-2": 700 }, words: ["api-2=700"], wrong: { "api-2": 0 } };
    case "factor":
      return { value: 3, words: ["3"], wrong: 0 };
    case "plan":
      return { value: "pro", words: ["pro"], wrong: "gone" };
    case "choice":
      return { value: field.of.at(-1), words: [field.of.at(-1)!], wrong: "neither" };
    case "flag":
      return { value: true, words: [], wrong: false };
    case "instant":
      return { value: "2999-01-02T03:04:05Z", words: ["2999-01-02T03:04:05Z"], wrong: "soon" };
    case "text":
      return { value: "some words", words: ["some words"], wrong: "" };
  }
}
