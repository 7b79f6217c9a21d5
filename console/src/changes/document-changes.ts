/** The whole live document, edited by hand. */

import { isTable } from "../../../src/kernel/config/bindings.ts";
import { api, type LiveAnswer } from "../api.ts";
import { documentCommand } from "../parts/command.tsx";
import type { LiveChange } from "./change.ts";
import { canonical, edit } from "./edit.ts";

type Content = Pick<LiveAnswer, "policies" | "overrides">;

/** What an operator edits: versions and notes are the gateway's. */
export function contentOf({ policies, overrides }: Content): Content {
  return { policies, overrides };
}

export function changeDocument(before: LiveAnswer, after: Content): LiveChange {
  const command = documentCommand();
  const put = async (content: Content, ifMatch: number) => {
    const made = await api.putLive({ ...contentOf(content), ...secretOf(before) }, ifMatch);
    return { version: made.version, value: contentOf(made) };
  };
  return edit({
    ...{ title: "Replace the live document", touches: touchesOf(before, after), isDangerous: true },
    ...{ before: contentOf(before), after, what: "the live document" },
    async read() {
      const document = await api.live();
      return { version: document.version, value: contentOf(document) };
    },
    there: { command, send: (version) => put(after, version) },
    back: { command, send: (version) => put(before, version) },
  });
}

/** The fingerprint of the key secret: without it the gateway takes its present one. */
function secretOf({ secret }: LiveAnswer): object {
  return secret === undefined ? {} : { secret };
}

function touchesOf(before: Content, after: Content): string {
  const names = new Set([...Object.keys(before.policies), ...Object.keys(after.policies)]);
  const changed = [...names].filter((name) => canonical(before.policies[name]) !== canonical(after.policies[name]));
  const old = new Set(before.overrides.map(canonical));
  const young = new Set(after.overrides.map(canonical));
  const clients = new Set(
    [
      ...before.overrides.filter((one) => !young.has(canonical(one))),
      ...after.overrides.filter((one) => !old.has(canonical(one))),
    ]
      .filter(isTable)
      .map(({ policy, key }) => `${policy}:${key}`),
  );
  return [
    changed.length > 0 ? `Every client of ${changed.join(", ")}.` : "",
    clients.size > 0 ? `${clients.size} named ${clients.size === 1 ? "client" : "clients"}.` : "",
    changed.length + clients.size === 0 ? "Nobody." : "",
  ]
    .join(" ")
    .trim();
}
