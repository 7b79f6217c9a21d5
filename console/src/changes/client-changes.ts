/** Changes for one client: its counts, and what the live document says of it. */

import { type Field, fieldsOf, OVERRIDE_ENTRIES } from "../../../src/features/live/fields.ts";
import { api, type OverrideFields, type RawClient } from "../api.ts";
import { overrideOf, withOverride } from "../data/entries.ts";
import { policyNamed } from "../data/live.ts";
import { isAddressKind } from "../data/lookup.ts";
import { admin, documentCommand } from "../parts/command.tsx";
import { amount, shortHash } from "../parts/numbers.ts";
import type { LiveChange } from "./change.ts";
import { edit, type Found } from "./edit.ts";
import type { LiveNumbers } from "./policy-changes.ts";

/** Known by its raw key, or only by its hash: from a list of limited clients, or from a log line. */
export interface ShownClient {
  readonly policy: string;
  readonly kind: string;
  readonly hash: string;
  readonly raw?: readonly string[];
}

/** How people see it. */
export function nameOf({ raw, hash }: ShownClient): string {
  return raw ? raw.join(" ") : shortHash(hash);
}

/** `blocked, limits × 2`. @param policy its name: the numbers are in the unit of its meter. */
export function effectText(fields: OverrideFields, policy: string): string {
  // What counts most comes first: whoever is blocked has no use for numbers.
  const effects = OVERRIDE_ENTRIES.toReversed().filter(
    ([name, { isEffect }]) => isEffect && fields[name] !== undefined,
  );
  return effects.map(([name, field]) => valueText(name, field, fields[name], policy)).join(", ");
}

/** A field of the live document in words. */
export function valueText(name: string, field: Field, value: unknown, policy: string): string {
  const unit = policyNamed(policy)?.meter?.unit;
  switch (field.is) {
    case "flag":
      return field.state;
    case "factor":
      return `limits × ${value}`;
    case "numbers":
      return Object.entries(value as LiveNumbers)
        .map(([id, number]) => `${id} = ${amount(number, unit)}`)
        .join(", ");
    default:
      return `${name} ${value}`;
  }
}

interface Wording {
  readonly title: string;
  readonly isDangerous: boolean;
  /** Words of the command after `headgate admin`, if the raw key is known: the client is named by `…`. */
  readonly command: readonly string[];
}

/** Replaces what the live document says of a client. Undefined: it says nothing any more. */
export function changeOverride(
  client: ShownClient,
  before: OverrideFields | undefined,
  after: OverrideFields | undefined,
  wording: Wording,
): LiveChange {
  const { command, ...shown } = wording;
  return edit({
    ...{ ...shown, touches: touchesOf(client), before, after, what: "this client" },
    read: () => readOverride(client),
    there: { command: commandOf(client, command), send: (version) => putOverride(client, after, version) },
    back: {
      command: commandOf(client, wordsOf(before, after)),
      send: (version) => putOverride(client, before, version),
    },
  });
}

/** The command line's words for an override as it is. @param replaced the one in whose place it comes. */
export function wordsOf(fields: OverrideFields | undefined, replaced: OverrideFields | undefined): string[] {
  if (!fields) return ["override", "…", "--remove"];
  const { block } = fields;
  const options = OVERRIDE_ENTRIES.flatMap(([name, { is, option, isEffect }]) => {
    const value = fields[name];
    // The command leaves what stands beside the block as it is.
    if (value === undefined || option === undefined || (block && isEffect)) return [];
    const [flag = ""] = option.split(" ");
    if (is === "flag") return [flag];
    if (is === "numbers") return Object.entries(value).flatMap(([id, number]) => [flag, `${id}=${number}`]);
    return [flag, String(value)];
  });
  if (block) return ["block", "…", ...options];
  return ["override", "…", ...options, ...(replaced ? ["--replace"] : [])];
}

export function resetCounts(client: ShownClient & { readonly raw: readonly string[] }): LiveChange {
  return {
    title: `Reset the counts of ${nameOf(client)} under ${client.policy}`,
    touches: touchesOf(client),
    isDangerous: false,
    command: commandOf(client, ["reset", "…"]),
    before: undefined,
    after: undefined,
    async send() {
      await api.reset(client);
      return undefined;
    },
  };
}

function touchesOf({ kind }: ShownClient): string {
  if (kind === "ip") return "1 client: this address, or its network if it is IPv6. Everybody behind it is meant.";
  if (isAddressKind(kind)) return `1 client: the network of this address (${kind}). Everybody in it is meant.`;
  return "1 client: whoever sends this key.";
}

/** Without the raw key there is only the whole document. */
function commandOf({ raw, ...client }: ShownClient, words: readonly string[]): string {
  if (!raw) return documentCommand(`"overrides" of ${client.hash}`);
  return admin(...words.flatMap((word) => (word === "…" ? wordsFor({ ...client, raw }) : [word])));
}

/** How the command line names a client. */
export function wordsFor({ policy, kind, raw }: RawClient): string[] {
  const isFirst = policyNamed(policy)?.key[0] === kind;
  return [policy, ...raw, ...(isFirst ? [] : ["--kind", kind])];
}

/** What holds for the client: as its card shows it, or as the document has it. */
async function readOverride({ raw, ...client }: ShownClient): Promise<Found> {
  if (raw) {
    const { version = 0, override } = await api.counts({ ...client, raw });
    return { version, value: fieldsOf(override) };
  }
  const document = await api.live();
  return { version: document.version, value: fieldsOf(overrideOf(document, client)) };
}

async function putOverride(client: ShownClient, fields: OverrideFields | undefined, version: number): Promise<Found> {
  const { raw } = client;
  if (raw) {
    const named = { ...client, raw };
    const made = fields ? await api.putOverride(named, fields, version) : await api.removeOverride(named, version);
    return { version: made.version, value: fieldsOf(made.override) };
  }
  const made = await api.putLive(withOverride(await api.live(), client, fields), version);
  return { version: made.version, value: fieldsOf(overrideOf(made, client)) };
}
