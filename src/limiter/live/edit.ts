/** Changes the live document: reads the newest, changes it, and writes it if nobody was faster. */

import { isTable } from "../../config/bindings.ts";
import { describeValue } from "../../config/mistake.ts";
import type { Policy } from "../../core/policy.ts";
import { checkDocument, checkPolicy, type LiveMistake } from "./check.ts";
import { EMPTY, type LiveDocument, type LiveOverride, MAX_LIVE_BYTES } from "./document.ts";
import { instantOf, isOfKind, POLICY_ENTRIES, POLICY_FIELDS, patched } from "./fields.ts";
import type { LiveReader, LiveState } from "./reader.ts";
import type { LiveView } from "./view.ts";

/** How often a change begins again because somebody else was faster. */
const MAX_TRIES = 20;

export interface Change {
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
  | { readonly change: Change }
  | { readonly mistakes: readonly LiveMistake[] }
  | { readonly refused: "raced" | "damaged" | "foreign"; readonly owner?: string | undefined };

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
  async function write(before: LiveDocument, after: LiveDocument, version: number): Promise<Edited | undefined> {
    const owner = reader.owner ?? before.owner;
    const text = JSON.stringify({ ...(owner !== undefined && { owner }), ...after });
    const bytes = new TextEncoder().encode(text).length;
    if (bytes > MAX_LIVE_BYTES) {
      return { mistakes: [{ path: "", expected: `at most ${MAX_LIVE_BYTES} bytes`, found: `${bytes} bytes` }] };
    }
    const written = await reader.write(text, version);
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
     * @param edit `view`: what the document makes of the policies before the change. @param isMeant whether a change of
     * this version is meant; of another version it is `raced`. Default: any version.
     */
    async change(
      edit: (document: LiveDocument, view: LiveView) => LiveDocument | readonly LiveMistake[],
      isMeant: IsMeant = () => true,
    ): Promise<Edited> {
      for (let i = 0; i < MAX_TRIES; i++) {
        const { version, view, state, owner } = await newest();
        if (!isMeant(version)) return { refused: "raced" };
        if (state === "foreign") return { refused: state, owner };
        if (!view) return { refused: "damaged" };
        const before = view.document;
        const after = edit(withSecret(before, await reader.secret()), view);
        if (isMistakes(after)) return { mistakes: after };
        if (contentOf(after) === contentOf(before)) return { change: { version, before, after: before } };
        const edited = await write(before, after, version);
        if (edited) return edited;
      }
      return { refused: "raced" };
    },

    /** Replaces the document of the version that is meant. @param value what an operator wrote, unchecked. */
    async replace(value: unknown, isMeant: IsMeant): Promise<Edited> {
      const { version, view, state, owner } = await newest();
      if (!isMeant(version)) return { refused: "raced" };
      if (state === "foreign") return { refused: state, owner };
      const mistakes = checkDocument(value, policies, view?.document);
      if (mistakes.length > 0) return { mistakes };
      const { secret, policies: changed, overrides } = value as LiveDocument;
      const after = { secret: secret ?? (await reader.secret()), policies: changed, overrides };
      const before = view?.document ?? EMPTY;
      return (await write(before, after, version)) ?? { refused: "raced" };
    },
  };
}

function isMistakes(edited: LiveDocument | readonly LiveMistake[]): edited is readonly LiveMistake[] {
  return Array.isArray(edited);
}

function contentOf({ policies, overrides }: LiveDocument): string {
  return JSON.stringify([policies, overrides]);
}

/**
 * The document under this key secret. Overrides under another secret stay, and name that secret's fingerprint: they
 * hold again if that secret comes back.
 */
function withSecret(document: LiveDocument, secret: string): LiveDocument {
  const { secret: other, policies, overrides } = document;
  if (other === undefined || other === secret || overrides.length === 0) return { secret, policies, overrides };
  const marked = overrides.map((one) =>
    isTable(one) ? { ...(one as LiveOverride), secret: one.secret ?? other } : one,
  );
  return { secret, policies, overrides: marked };
}

/** With this override in place of the client's earlier one. Overrides that have ended are left out. */
export function setOverride(document: LiveDocument, override: LiveOverride, nowMs: number): LiveDocument {
  const kept = document.overrides.filter((one) => !isEnded(one, nowMs));
  const at = kept.findIndex(isFor(override));
  const overrides = at < 0 ? [...kept, override] : kept.with(at, override);
  return { ...document, overrides };
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
