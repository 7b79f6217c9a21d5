/** Conditions and keys on what the body of a request says. */

import { isTable } from "../../kernel/config/bindings.ts";
import type { AddedFields } from "../../kernel/config/fields/field.ts";
import { LONGEST_SEEN } from "./condition.ts";

/** TOML makes a table in a table of a name with dots. */
const QUOTED = 'a name with dots in quotes, for example { "user.email" = "*@example.com" }';

const PATTERN = {
  is: "oneOrMore",
  of: {
    is: "text",
    form: new RegExp(`^.{1,${LONGEST_SEEN}}$`, "s"),
    meant: (value: unknown) => (isTable(value) ? QUOTED : undefined),
  },
  expected: `a text of 1 to ${LONGEST_SEEN} characters or a list of them, for example "gpt-5*"; * stands for any text`,
} as const;

export const bodyFields = {
  conditions: {
    body: {
      is: "named",
      of: PATTERN,
      names: {
        form: /^[^\s+]{1,128}$/,
        expected: 'names of 1 to 128 characters without white space and "+", for example "user.email"',
      },
      expected: 'a table of patterns by the names of fields, for example { model = "gpt-5*" }',
      isOptional: true,
    },
  },
  sources: ["body"],
} as const satisfies AddedFields;
