/** Changes the live document: reads the newest, changes it, and writes it if nobody was faster. */

import {
  addressOf,
  EMPTY,
  type LiveDocument,
  type LiveOverride,
  MAX_LIVE_BYTES,
} from "../../features/live/document.ts";
import { endOf, instantOf, isOfKind, POLICY_ENTRIES, POLICY_FIELDS, patched } from "../../features/live/fields.ts";
import type { LiveState } from "../../features/live/reader.ts";
import type { LiveView } from "../../features/live/view.ts";
import { isTable } from "../../kernel/config/bindings.ts";
import { describeValue } from "../../kernel/config/mistake.ts";
import type { Policy } from "../../kernel/core/policy.ts";
import type { LiveReader } from "../../kernel/limiter/live.ts";
import type { LiveMistake } from "./answers.ts";
import { checkDocument, checkPolicy } from "./check-document.ts";
import { bytesOf, withChange } from "./made-changes.ts";

/** How often a change begins again because somebody else was faster. */
const MAX_TRIES = 20;

export interface DocumentChange {
  readonly version: number;
  readonly before: LiveDocument;
  /** The same object as `before` if nothing had to be changed. */
  readonly after: LiveDocument;
}

/**
 * `raced`: somebody else was faster. `damaged`: the store's document is damaged, and this isolate has read no good one.
 * `foreign`: another deployment has written it.
 */
export type Edited =
  | { readonly change: DocumentChange }
  | { readonly mistakes: readonly LiveMistake[] }
  | { readonly refused: "raced" | "damaged" | "foreign"; readonly newest: Newest };

/** The newest document that this isolate could read. */
export interface Newest {
  /** The version in the store, which a change replaces. */
  readonly version: number;
  /** Undefined: the store's document is damaged, and this isolate has read no good one. */
  readonly view: LiveView | undefined;
  /** Not `good`: the view is older than what is stored, and still in force here. */
  readonly state: LiveState;
  /** Who has written what is stored. Absent: a deployment without a name, or nobody. */
  readonly owner?: string;
}

/** Whether an operator means to change the document of this version. */
export type IsMeant = (version: number) => boolean;

export type LiveEditor = ReturnType<typeof createLiveEditor>;

/** All methods throw `StoreError` if the store does not answer: then a change may have been made or not. */
export function createLiveEditor(reader: LiveReader, policies: readonly Policy[]) {
  async function newest(): Promise<Newest> {
    await reader.refresh();
    return { ...reader.stored(), view: reader.view() };
  }

  /** Undefined: somebody else was faster. */
  async function write(
    by: string,
    before: LiveDocument,
    { secret, policies, overrides }: LiveDocument,
    version: number,
  ): Promise<Edited | undefined> {
    const owner = reader.owner ?? before.owner;
    const after = { ...(secret !== undefined && { secret }), policies, overrides };
    const text = JSON.stringify({ ...(owner !== undefined && { owner }), ...after });
    const bytes = bytesOf(text);
    // A document that is too large by now must not stay so.
    if (bytes > MAX_LIVE_BYTES && bytes >= bytesOf(JSON.stringify({ ...before, changes: undefined }))) {
      return { mistakes: [{ path: "", expected: `at most ${MAX_LIVE_BYTES} bytes`, found: `${bytes} bytes` }] };
    }
    const made = { at: new Date().toISOString(), by, version: version + 1 };
    const written = await reader.write(withChange(text, before, after, made), version);
    if (written === undefined) return undefined;
    // It is written: if it cannot be read at once, a later request will read it.
    await reader.refresh().catch(() => {});
    return { change: { version: written, before, after } };
  }

  return {
    newest,

    /**
     * Changes the newest document. If somebody else is faster, `edit` gets the newer document.
     *
     * @param by who. @param edit `view`: what the document makes of the policies before the change. `secret`: the
     * fingerprint of the running key secret. @param isMeant whether a change of this version is meant; of another
     * version it is `raced`. Default: any version.
     */
    async change(
      by: string,
      edit: (document: LiveDocument, view: LiveView, secret: string) => LiveDocument | readonly LiveMistake[],
      isMeant: IsMeant = () => true,
    ): Promise<Edited> {
      for (let i = 0; i < MAX_TRIES; i++) {
        const found = await newest();
        const { version, view, state } = found;
        if (!isMeant(version)) return { refused: "raced", newest: found };
        if (state === "foreign") return { refused: state, newest: found };
        if (!view) return { refused: "damaged", newest: found };
        const before = view.document;
        const secret = await reader.secret();
        const after = edit(withSecret(before, secret), view, secret);
        if (isMistakes(after)) return { mistakes: after };
        if (contentOf(after) === contentOf(before)) return { change: { version, before, after: before } };
        const edited = await write(by, before, withSecret(after, secret), version);
        if (edited) return edited;
      }
      return { refused: "raced", newest: await newest() };
    },

    /** Replaces the document of the version that is meant. @param given what an operator wrote, unchecked. */
    async replace(by: string, given: unknown, isMeant: IsMeant, nowMs: number): Promise<Edited> {
      const found = await newest();
      const { version, view, state } = found;
      if (!isMeant(version)) return { refused: "raced", newest: found };
      if (state === "foreign") return { refused: state, newest: found };
      const before = view?.document ?? EMPTY;
      const value = withInstants(given, nowMs);
      const mistakes = checkDocument(value, policies, before, nowMs);
      if (mistakes.length > 0) return { mistakes };
      const after = markNew(value as LiveDocument, before, await reader.secret());
      return (await write(by, before, after, version)) ?? { refused: "raced", newest: await newest() };
    },
  };
}

function isMistakes(edited: LiveDocument | readonly LiveMistake[]): edited is readonly LiveMistake[] {
  return Array.isArray(edited);
}

function contentOf({ policies, overrides }: LiveDocument): string {
  return JSON.stringify([policies, overrides]);
}

/** The fingerprint of a document is that of the overrides without one of their own. Without such: the running one. */
function withSecret({ secret: other, policies, overrides }: LiveDocument, secret: string): LiveDocument {
  const isUsed = overrides.some((one) => isTable(one) && one.secret === undefined);
  return { secret: (isUsed && other) || secret, policies, overrides };
}

/**
 * An edited document. If its fingerprint is an earlier secret's, clients that are new in it are marked with the running
 * one: where operators find a hash, it was made under that. A copy that moves to another store stays as it is.
 */
function markNew(
  { secret: own, policies, overrides }: LiveDocument,
  before: LiveDocument,
  secret: string,
): LiveDocument {
  if (own !== before.secret) return { secret: own ?? secret, policies, overrides };
  const known = new Set(before.overrides.map(addressOf));
  const marked = overrides.map((one) => (known.has(addressOf(one)) ? one : marking(one, own, secret)));
  return withSecret({ ...(own && { secret: own }), policies, overrides: marked }, secret);
}

/** @param document its fingerprint. @param secret that of the key secret under which the override's key was hashed. */
function marking(override: LiveOverride, document: string | undefined, secret: string): LiveOverride {
  if (override.secret !== undefined || document === undefined || document === secret) return override;
  return { ...override, secret };
}

/** Durations of a document as the instants at which they end. */
function withInstants(value: unknown, nowMs: number): unknown {
  if (!isTable(value) || !Array.isArray(value.overrides)) return value;
  const overrides = value.overrides.map((one) => (isTable(one) ? { ...one, until: endOf(one.until, nowMs) } : one));
  return { ...value, overrides };
}

/**
 * With this override in place of the client's earlier one. Overrides that have ended are left out. Those under another
 * key secret stay as they are: they hold again if that secret comes back.
 *
 * @param secret the fingerprint of the secret under which the override's key was hashed.
 */
export function setOverride(
  document: LiveDocument,
  override: LiveOverride,
  secret: string,
  nowMs: number,
): LiveDocument {
  const kept = document.overrides.filter((one) => !isEnded(one, nowMs));
  const marked = marking(override, document.secret, secret);
  const at = kept.findIndex(isFor(override));
  const overrides = at < 0 ? [...kept, marked] : kept.with(at, marked);
  return { ...document, overrides };
}

export function overrideIn(
  { overrides }: LiveDocument,
  client: Pick<LiveOverride, "policy" | "key">,
  nowMs: number,
): LiveOverride | undefined {
  const found = overrides.find(isFor(client));
  return isEnded(found, nowMs) ? undefined : found;
}

export function removeOverride(document: LiveDocument, client: Pick<LiveOverride, "policy" | "key">): LiveDocument {
  const isIt = isFor(client);
  return { ...document, overrides: document.overrides.filter((one) => !isIt(one)) };
}

function isFor(client: Pick<LiveOverride, "policy" | "key">): (one: unknown) => boolean {
  return (one) => isTable(one) && one.policy === client.policy && one.key === client.key;
}

function isEnded(one: unknown, nowMs: number): boolean {
  return isTable(one) && typeof one.until === "string" && instantOf(one.until) <= nowMs;
}

/** What an operator changes about a policy. `null` undoes a change; of numbers, one by one. @param patch unchecked. */
export function patchPolicy(
  document: LiveDocument,
  policy: Policy,
  patch: unknown,
): LiveDocument | readonly LiveMistake[] {
  if (!isTable(patch) || Object.keys(patch).length === 0) {
    const expected = `a table with ${Object.keys(POLICY_FIELDS).join(", ")} or both`;
    return [{ path: "", expected, found: describeValue(patch) }];
  }
  const { [policy.name]: found, ...otherPolicies } = document.policies;
  const after = patched(isTable(found) ? found : {}, patch);
  const toCheck: Record<string, unknown> = { ...patch, ...after };
  for (const [name, field] of POLICY_ENTRIES) {
    const given = patch[name];
    if (given === null) delete toCheck[name];
    if (given === null || field.is !== "numbers") continue;
    // Numbers of limits that the configuration does not know any more stay: they are no mistake of this change.
    const isKnown = (id: string) =>
      Object.hasOwn(given as object, id) || policy.limits.some((limit) => limit.id === id);
    const numbers = isOfKind(field, given) && Object.entries(after[name] ?? {}).filter(([id]) => isKnown(id));
    toCheck[name] = !numbers ? given : numbers.length > 0 ? Object.fromEntries(numbers) : undefined;
  }
  const mistakes = checkPolicy(toCheck, "", policy);
  if (mistakes.length > 0) return mistakes;
  const isEmpty = Object.keys(after).length === 0;
  return { ...document, policies: isEmpty ? otherPolicies : { ...otherPolicies, [policy.name]: after } };
}
