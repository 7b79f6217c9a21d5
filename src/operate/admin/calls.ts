/** What the calls of the admin API share: the policy and client that a call names, its body, and answers to changes. */

import type { Context, Hono } from "hono";
import { EMPTY, type LiveDocument, MAX_LIVE_BYTES } from "../../features/live/document.ts";
import type { Policy } from "../../kernel/core/policy.ts";
import type { AppliedPolicy } from "../../kernel/limiter/decide.ts";
import type { KeyByHand } from "../../kernel/limiter/key-by-hand.ts";
import type { InsideLimiter } from "../../kernel/limiter/types.ts";
import { isStoreError } from "../../kernel/store/failure.ts";
import { tagsIn } from "../limits-page/serve.ts";
import { answer, badRequest, notFound, problem } from "./answers.ts";
import { createLiveEditor, type Edited, type IsMeant, type LiveEditor } from "./edit-document.ts";
import type { Admin } from "./gate.ts";

export interface AdminEnv {
  readonly Variables: { admin: Admin };
}
export type AdminApp = Hono<AdminEnv>;
type AdminContext = Context<AdminEnv>;
type AdminHandler = (c: AdminContext) => Promise<Response>;

export interface NamedClient {
  readonly applied: AppliedPolicy;
  /** Where limits with `scope: "region"` count. */
  readonly region: string;
}

export type AdminCalls = ReturnType<typeof createCalls>;

export function createCalls(limiter: InsideLimiter, regionOf: (request: Request) => string) {
  const { live } = limiter;
  /** Undefined: `LIVE_REFRESH` is 0, and no live document is read. */
  const editor = live && createLiveEditor(live, limiter.policies);

  function forPolicy(handle: (c: AdminContext, policy: Policy) => Promise<Response>): AdminHandler {
    return async (c) => {
      const policy = limiter.policies.find(({ name }) => name === c.req.param("policy"));
      return policy ? await handle(c, policy) : notFound("This gateway has no policy with that name.");
    };
  }

  function forClient(
    handle: (c: AdminContext, client: NamedClient, policy: Policy) => Promise<Response>,
  ): AdminHandler {
    return forPolicy(async (c, policy) => {
      const region = c.req.query("region") ?? regionOf(c.req.raw);
      let applied: AppliedPolicy;
      try {
        // A look that costs nothing is always answered by the store, and never by what the isolate remembers.
        applied = await limiter.client(policy.name, { ...keyOf(c.req.raw, policy), cost: 0, region });
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        return badRequest(error.message.replace(/^take: /, ""));
      }
      return await handle(c, { applied, region }, policy);
    });
  }

  return { limiter, editor, forPolicy, forClient };
}

/** How an answer and an audit line name a client. */
export function shownClient({ policy, kind, partition }: AppliedPolicy) {
  return { policy: policy.name, kind, key: partition };
}

/**
 * The versions of the live document that `If-Match` names: the `ETag` of an answer, a list of such, or `*` for any
 * document. A text that is no tag of ours names none. Undefined: there is no such field.
 */
export function meantBy(c: AdminContext): IsMeant | undefined {
  const field = c.req.header("If-Match");
  if (field === undefined) return undefined;
  if (field.trim() === "*") return (version) => version > 0;
  const tags = tagsIn(field);
  return (version) => tags.includes(etagOf(version));
}

/** The largest body. A document that is too large may be replaced by one that is smaller, and still too large. */
const MAX_BODY_BYTES = 4 * MAX_LIVE_BYTES;

/** The JSON of a body. */
export async function readBody(
  c: Context,
  mostBytes = MAX_BODY_BYTES,
): Promise<{ readonly value: unknown } | Response> {
  const detail = `The body may have at most ${mostBytes} bytes.`;
  const tooLarge = () => problem({ title: "Content Too Large", status: 413, detail });
  if (Number(c.req.header("Content-Length")) > mostBytes) return tooLarge();
  const bytes = await c.req.arrayBuffer();
  if (bytes.byteLength > mostBytes) return tooLarge();
  try {
    // A byte that is not UTF-8 would become another character, and the name of another client.
    return { value: JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes)) };
  } catch {
    return badRequest("The body is not JSON in UTF-8.");
  }
}

/** One JSON line for each change that an admin makes. It holds hashes and never a raw key. */
interface AuditEntry {
  /** Who: `token`, or `access:` and an address or id. */
  readonly by: string;
  /** What was called, for example `PUT /overrides/api`. */
  readonly call: string;
  /** Whose counts or override: kind and hash. */
  readonly client?: { readonly kind: string; readonly key: string };
  readonly before?: unknown;
  readonly after?: unknown;
  /** The version of the live document after the change. */
  readonly version?: number;
  /** The store did not answer: the change may have been made or not. */
  readonly failure?: string;
}

export function audit(entry: AuditEntry): void {
  console.log(JSON.stringify({ event: "admin", at: new Date().toISOString(), ...entry }));
}

/** Does the work. Writes the audit line also if the store does not say whether the work was done. */
export async function audited<T>(entry: AuditEntry, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isStoreError(error)) audit({ ...entry, failure: error.code });
    throw error;
  }
}

/**
 * Changes the live document, writes the audit line and answers. `If-Match` may name the version that is meant.
 *
 * @param work gets the body, unchecked. @param shown what the answer has beside the version: of the changed document,
 * and of the newest one if somebody else was faster.
 */
export async function answerChange(
  c: AdminContext,
  editor: LiveEditor | undefined,
  changed: Pick<AuditEntry, "call" | "client">,
  work: (editor: LiveEditor, by: string, body: unknown, isMeant: IsMeant | undefined) => Promise<Edited>,
  shown: (document: LiveDocument, isRefused: boolean) => object,
): Promise<Response> {
  if (!editor) return NO_LIVE();
  const body = c.req.method === "DELETE" ? { value: undefined } : await readBody(c);
  if (body instanceof Response) return body;
  const isMeant = meantBy(c);
  const entry = { by: c.get("admin").by, ...changed };
  const edited = await audited(entry, () => work(editor, entry.by, body.value, isMeant));
  if ("mistakes" in edited) {
    const detail = "Nothing was changed: see `mistakes`.";
    return problem({ title: "Unprocessable Content", status: 422, detail, mistakes: edited.mistakes });
  }
  if ("refused" in edited) return refusedChange(edited, isMeant ? 412 : 409, (document) => shown(document, true));
  const { version, before, after } = edited.change;
  if (before !== after) audit({ ...entry, before: without(before, after), after: without(after, before), version });
  return answer({ version, ...shown(after, false) }, { ETag: etagOf(version) });
}

function refusedChange(
  { refused, newest }: Extract<Edited, { refused: string }>,
  raced: 409 | 412,
  shown: (document: LiveDocument) => object,
): Response {
  if (refused === "damaged") {
    const detail = "The stored live document is damaged, and no good one is known here. Replace it: PUT /live.";
    return problem({ title: "Conflict", status: 409, detail });
  }
  if (refused === "foreign") return problem({ title: "Conflict", status: 409, detail: foreignNote(newest.owner) });
  const title = raced === 412 ? "Precondition Failed" : "Conflict";
  const detail = "Nothing was changed: somebody else has changed the live document since it was read.";
  const { version, view } = newest;
  const now = { version, ...shown(view?.document ?? EMPTY) };
  return problem({ title, status: raced, detail, ...now }, { ETag: etagOf(version) });
}

/** Health shows this note too. */
export const foreignNote = (owner = "") =>
  `live: the document in the store belongs to the deployment ${owner}, and is ignored here: give each deployment its own NAMESPACE`;

export function etagOf(version: number): string {
  return `"${version}"`;
}

export const NO_LIVE = () => notFound("LIVE_REFRESH is 0s: this gateway reads no live document.");

/** In place of `?key=`, because URLs reach logs. */
const KEY_FIELD = "Headgate-Key";

/** The character that replaces a byte that is not UTF-8. Browsers send an ü as such a byte. */
const UNREADABLE = "\ufffd";

/**
 * `kind`, by default the policy's first one, and `key`, once for each part of a combined kind. The field has the parts
 * encoded as in a URL, because a field can neither hold every character nor be given twice: separated by commas.
 *
 * @throws {TypeError} if a character of the field was lost on the way: it would name another client.
 */
function keyOf({ url, headers }: Request, policy: Policy): KeyByHand {
  const { searchParams } = new URL(url);
  const kind = searchParams.get("kind") ?? policy.key[0]!;
  const field = headers.get(KEY_FIELD);
  if (field?.includes(UNREADABLE)) throw new TypeError(`${KEY_FIELD}: expected its parts encoded as in a URL`);
  const inField = field !== null && (kind.includes("+") ? field.split(",") : [field]);
  const parts = inField ? inField.map((part) => decoded(part.trim())) : searchParams.getAll("key");
  const key = parts.length > 1 ? parts : parts[0];
  return { kind, ...(key !== undefined && { key }) };
}

/** A text that is not encoded may hold a percent sign. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A log line has a bound: Workers Logs cut it at 256 KB (2026-11). */
const MAX_OVERRIDES = 100;

/** What differs between two documents: the policies and overrides that the other one does not have. */
function without(document: LiveDocument, other: LiveDocument): unknown {
  const others = new Set(other.overrides.map((override) => JSON.stringify(override)));
  const policies = Object.entries(document.policies).filter(
    ([name, policy]) => JSON.stringify(policy) !== JSON.stringify(other.policies[name]),
  );
  const overrides = document.overrides.filter((override) => !others.has(JSON.stringify(override)));
  return {
    ...(policies.length > 0 && { policies: Object.fromEntries(policies) }),
    ...(overrides.length > 0 && { overrides: overrides.slice(0, MAX_OVERRIDES) }),
    ...(overrides.length > MAX_OVERRIDES && { furtherOverrides: overrides.length - MAX_OVERRIDES }),
  };
}
