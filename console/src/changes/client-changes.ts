/** Changes for one client: its counts, and what the live document says of it. */

import { api, type Effect, type Override, Refused } from "../api.ts";
import { isTable, overridesOf } from "../data/entries.ts";
import { policyNamed } from "../data/live.ts";
import { admin } from "../parts/command.tsx";
import type { Until } from "../parts/fields.tsx";
import { amount, shortHash } from "../parts/numbers.ts";
import type { Change } from "./change.ts";

/** Known by its raw key, or only by its hash: from a list of limited clients, or from a log line. */
export interface Client {
  readonly policy: string;
  readonly kind: string;
  readonly hash: string;
  readonly raw?: readonly string[];
}

/** How people see it. */
export function nameOf({ raw, hash }: Client): string {
  return raw ? raw.join(" ") : shortHash(hash);
}

const EFFECTS = ["limits", "factor", "plan", "exempt", "block"] as const;

/** An override without the client's name: what a PUT takes. */
export function effectOf(override: Override | null | undefined): Effect | undefined {
  if (!override) return undefined;
  const { limits, factor, plan, exempt, block, until, note } = override;
  const all = { limits, factor, plan, exempt, block, until, note };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Effect;
}

/** Without its block. Undefined: nothing is left, for an `until` or a note alone does nothing. */
export function withoutBlock(effect: Effect): Effect | undefined {
  const { block: _, ...rest } = effect;
  return EFFECTS.some((name) => name in rest) ? rest : undefined;
}

/** `factor 2, until 2026-12-01 00:00 UTC`. */
/** @param policy its name: the numbers are in the unit of its meter. */
export function effectText(effect: Effect, policy: string): string {
  const unit = policyNamed(policy)?.meter?.unit;
  const { limits, factor, plan, exempt, block } = effect;
  const words = [
    block && "blocked",
    exempt && "exempt",
    factor !== undefined && `limits × ${factor}`,
    plan !== undefined && `plan ${plan}`,
    ...Object.entries(limits ?? {}).map(([id, number]) => `${id} = ${amount(number, unit)}`),
  ];
  return words.filter(Boolean).join(", ");
}

interface Wording {
  readonly title: string;
  readonly isDangerous: boolean;
  /** Words of the command after `headgate admin`, if the raw key is known: the client is named by `…`. */
  readonly command: readonly (string | undefined)[];
}

/** Replaces what the live document says of a client. Undefined: it says nothing any more. */
export function changeOverride(
  client: Client,
  before: Effect | undefined,
  after: Effect | undefined,
  wording: Wording,
): Change {
  const { title, isDangerous } = wording;
  const change = (from: Effect | undefined, to: Effect | undefined, shown: Wording, undo?: Change): Change => ({
    title: shown.title,
    touches: touchesOf(client),
    isDangerous: shown.isDangerous,
    command: commandOf(client, shown.command),
    before: from,
    after: to,
    send: () => putEffect(client, to),
    ...(undo && { undo }),
  });
  const back = change(after, before, { title: `Undo: ${title}`, isDangerous: false, command: wordsOf(before) });
  const undo: Change = {
    ...back,
    async send() {
      await expectOverride(client, after);
      return await back.send();
    },
  };
  return change(before, after, { title, isDangerous, command: wording.command }, undo);
}

/** The command line's words for an override as it is. */
export function wordsOf(effect: Effect | undefined, until: Until = {}): (string | undefined)[] {
  if (!effect) return ["override", "…", "--remove"];
  const { limits, factor, plan, exempt, block, note } = effect;
  const end = until.word ?? effect.until;
  const options = [...(end ? ["--until", end] : []), ...(note ? ["--note", note] : [])];
  if (block) return ["block", "…", ...options];
  const numbers = Object.entries(limits ?? {}).flatMap(([id, number]) => ["--limit", `${id}=${number}`]);
  return [
    ...["override", "…", ...numbers],
    ...(factor !== undefined ? ["--factor", String(factor)] : []),
    ...(plan !== undefined ? ["--plan", plan] : []),
    ...(exempt ? ["--exempt"] : []),
    ...options,
  ];
}

export function resetCounts(client: Client & { readonly raw: readonly string[] }): Change {
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

function touchesOf({ kind }: Client): string {
  if (kind === "ip") return "1 client: this address, or its /64 if it is IPv6. Everybody behind it is meant.";
  return "1 client: whoever sends this key.";
}

/** Without the raw key there is only the whole document. */
function commandOf(client: Client, words: readonly (string | undefined)[]): string {
  const { policy, kind, raw } = client;
  if (!raw) {
    return [
      `${admin("live", "get", "--out", "live.json")}   # then edit "overrides" of ${client.hash}`,
      admin("live", "put", "live.json"),
    ].join("\n");
  }
  const isFirst = policyNamed(policy)?.key[0] === kind;
  const named = words.flatMap((word) =>
    word === "…" ? [policy, ...raw, ...(isFirst ? [] : ["--kind", kind])] : [word],
  );
  return admin(...named);
}

async function putEffect(client: Client, effect: Effect | undefined): Promise<number> {
  const { raw } = client;
  if (raw) {
    const named = { ...client, raw };
    const { version } = effect ? await api.putOverride(named, effect) : await api.removeOverride(named);
    return version;
  }
  const { body, etag } = await api.live();
  const others = body.overrides.filter((one) => !isFor(client, one));
  const { policy, kind, hash } = client;
  const overrides = effect ? [...others, { policy, kind, key: hash, ...effect }] : others;
  const { version } = await api.putLive({ ...body, overrides }, etag ?? `"${body.version}"`);
  return version;
}

export function isFor({ policy, hash }: Client, override: unknown): boolean {
  return isTable(override) && override.policy === policy && override.key === hash;
}

/** An undo must not take back what somebody else has done since. */
async function expectOverride(client: Client, expected: Effect | undefined): Promise<void> {
  const { body } = await api.live();
  const found = effectOf(overridesOf(body).find((one) => isFor(client, one)));
  if (canonical(found) === canonical(expected)) return;
  throw new Refused(409, "Somebody else has changed this client since. Nothing was undone.");
}

/** The order of fields means nothing. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    typeof one === "object" && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}
