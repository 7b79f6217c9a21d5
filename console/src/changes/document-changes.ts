/** The whole live document, edited by hand. */

import { isTable } from "../../../src/config/bindings.ts";
import { api, type LiveDocument } from "../api.ts";
import { admin } from "../parts/command.tsx";
import type { Change } from "./change.ts";
import { canonical, isEqual, undoable } from "./undo.ts";

type Content = Pick<LiveDocument, "policies" | "overrides">;

/** What an operator edits: versions and notes are the gateway's. */
export function contentOf({ policies, overrides }: Content): Content {
  return { policies, overrides };
}

export function changeDocument(before: LiveDocument, etag: string, after: Content): Change {
  const command = [admin("live", "get", "--out", "live.json"), admin("live", "put", "live.json")].join("\n");
  const put = async (content: Content, ifMatch: string) => {
    return (await api.putLive({ ...contentOf(content), ...secretOf(before) }, ifMatch)).version;
  };
  const title = "Replace the live document";
  const touches = touchesOf(before, after);
  const change: Change = {
    ...{ title, touches, isDangerous: true, command, before: contentOf(before), after },
    send: () => put(after, etag),
  };
  let newest = "";
  const back = { command, send: () => put(before, newest) };
  return undoable(change, back, "the live document", async () => {
    const { body, etag: found } = await api.live();
    newest = found ?? `"${body.version}"`;
    return isEqual(contentOf(body), contentOf(after));
  });
}

/** The fingerprint of the key secret: without it the gateway takes its present one. */
function secretOf({ secret }: LiveDocument): object {
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
