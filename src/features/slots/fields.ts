/** What is known about the `sockets` of a policy's limits together. */

import type { FeatureFields } from "../../kernel/config/fields/field.ts";
import { mistakeAbout } from "../../kernel/config/mistake.ts";
import { isConcurrency } from "../../kernel/core/concurrency.ts";

export const slotsFields = {
  fields: {},
  /** A request holds all slots of a policy under one number, and gives them back together. */
  beside({ limits, mistakes }) {
    const said = limits.flatMap(({ limit, path }) => (isConcurrency(limit) ? [{ sockets: limit.sockets, path }] : []));
    const [first, ...others] = said;
    for (const { sockets, path } of others) {
      if (sockets === first!.sockets) continue;
      const expected = `the same as in ${first!.path}: ${first!.sockets ? `"${first!.sockets}"` : "none"}`;
      mistakes.push(mistakeAbout("ERR_POLICY_SOCKETS", `${path}.sockets`, expected, sockets));
    }
  },
  write: () => ({}),
} as const satisfies FeatureFields;
