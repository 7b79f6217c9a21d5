/** Who changed what: the last changes of the live document, which are kept with it. They never keep a change out. */

import {
  addressOf,
  type ChangedEntry,
  type LiveDocument,
  type LiveOverride,
  MAX_LIVE_BYTES,
  type MadeChange,
  namedOverrides,
} from "../../features/live/document.ts";
import { type Entry, fieldsOf, instantOf } from "../../features/live/fields.ts";
import { isTable } from "../../kernel/config/bindings.ts";

const MAX_CHANGES = 100;
/** Entries that a change names. A whole document may replace thousands. */
const MAX_NAMED = 5;
/** Every isolate reads them with the document. */
const MAX_BYTES = 65_536;

type Made = Pick<MadeChange, "at" | "by" | "version">;

/** The text of the document with its changes, this one last, as far as they fit: the oldest are forgotten. */
export function withChange(text: string, before: LiveDocument, after: LiveDocument, made: Made): string {
  const all = changedIn(before, after, Date.parse(made.at));
  const [changed, more] = [all.slice(0, MAX_NAMED), Math.max(0, all.length - MAX_NAMED)];
  const changes = [...changesIn(before.changes), { ...made, changed, ...(more > 0 && { more }) }];
  let bytes = Math.min(MAX_BYTES, MAX_LIVE_BYTES - bytesOf(text) - ',"changes":[]'.length);
  const kept: string[] = [];
  for (const change of changes.toReversed().slice(0, MAX_CHANGES)) {
    const one = JSON.stringify(change);
    bytes -= bytesOf(one) + 1;
    if (bytes < 0) break;
    kept.unshift(one);
  }
  return kept.length > 0 ? `${text.slice(0, -1)},"changes":[${kept}]}` : text;
}

export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

function changedIn(before: LiveDocument, after: LiveDocument, nowMs: number): ChangedEntry[] {
  const names = Object.keys({ ...before.policies, ...after.policies });
  const policies = names.map((policy) => changedEntry({ policy }, before.policies[policy], after.policies[policy]));
  const [old, young] = [clientsOf(before), clientsOf(after)] as const;
  const clients = [...new Map([...old, ...young])].map(([address, { policy, kind, key }]) => {
    const [was, is] = [shown(old.get(address)), shown(young.get(address))];
    // Whoever changes another one takes away what has ended.
    const isEnded = !is && instantOf(was?.until) <= nowMs;
    return isEnded ? undefined : changedEntry({ policy, kind, key }, was, is);
  });
  return [...policies, ...clients].flatMap((one) => one ?? []);
}

const clientsOf = (document: LiveDocument) => new Map(namedOverrides(document).map((one) => [addressOf(one), one]));

/** A note is long, and stands in the override. */
function shown(override: LiveOverride | undefined): Entry | undefined {
  const { note: _, ...fields } = fieldsOf(override) ?? {};
  return override && fields;
}

function changedEntry(of: ChangedEntry, was?: Entry, is?: Entry): ChangedEntry | undefined {
  if (JSON.stringify(was) === JSON.stringify(is)) return undefined;
  return { ...of, ...(was && { was }), ...(is && { is }) };
}

/** The changes of a stored document that can be shown. Somebody may have written others into the store by hand. */
export function changesIn(changes: unknown): readonly MadeChange[] {
  const all = Array.isArray(changes) ? changes.filter(isTable) : [];
  const isOne = ({ at, by, version, changed }: Entry) =>
    typeof at === "string" &&
    !Number.isNaN(Date.parse(at)) &&
    typeof by === "string" &&
    typeof version === "number" &&
    Array.isArray(changed);
  const found = all.filter(isOne) as unknown as MadeChange[];
  return found.map((one) => ({ ...one, changed: one.changed.filter(isChanged) }));
}

function isChanged(one: unknown): boolean {
  if (!isTable(one)) return false;
  const { policy, kind = "", key = "", was = {}, is = {} } = one;
  return [policy, kind, key].every((text) => typeof text === "string") && isTable(was) && isTable(is);
}
