/** `ban`: what clients and operators see of it. Who is banned, part.ts knows. */

import { Kind } from "../../kernel/core/layout.ts";
import type { Policy } from "../../kernel/core/policy.ts";
import type { Feature } from "../../kernel/http/feature.ts";
import { formOf, sourceOf } from "../../kernel/request/sources.ts";

export const ban: Feature = {
  name: "ban",
  isUsed: (policies) => policies.some((policy) => policy.ban),
  warn: banWarnings,
  around: (inner) => ({
    /** The problem names the ban. The fields of limits show the limits alone. */
    refuse(passage, reason) {
      const { decision } = passage;
      if (decision?.outcome === "refused") {
        const limits = decision.limits.filter(({ limit }) => limit.kind !== Kind.ban);
        if (limits.length < decision.limits.length) passage.decision = { ...decision, limits };
      }
      return inner.refuse(passage, reason);
    },
  }),
};

/** Whoever can send the key of another client can have it banned. */
function banWarnings({ name, key, ban }: Policy): string[] {
  const open = ban && key.find((kind) => !kind.split("+").some(isOwn));
  if (open === undefined) return [];
  return [
    `policy ${name} bans by ${open}, which others can send too: a client could be banned on purpose. Count by ip or by a claim (jwt:<name>)`,
  ];
}

const isOwn = (source: string) => formOf(source).isAddress || sourceOf(source) === "jwt";
