/** Requests under a meter that nobody can meter: files, batches, images, sounds, sockets, unreadable bodies. */

import type { Meter, Policy } from "../../kernel/core/policy.ts";
import { toUnits } from "../../kernel/core/units.ts";
import { methodsOf } from "../../kernel/http/match.ts";
import { ProblemType } from "../../kernel/http/problem.ts";
import type { Reason } from "../../kernel/http/refusal.ts";
import { isEncoded, MAX_BYTES, type RequestBody } from "../../kernel/request/request-body.ts";
import type { RequestHead } from "../../kernel/request/request-head.ts";
import { normalizePath } from "../../kernel/request/text.ts";
import { formatOf } from "./llm/format.ts";

/** Segments of paths whose answers state no tokens, or not in their answer. */
export const UNMETERED_SEGMENTS = ["images", "audio", "videos", "batches", "files", "fine_tuning", "realtime"];

/** An origin may decode `%2F`, and drop what stands behind a `;`. */
const UNMETERED = new RegExp(`(?:/|%2f)(?:${UNMETERED_SEGMENTS.join("|")})(?:/|;|%2f|%3b|$)`, "i");
/** Google's names for batches, images and videos. */
const UNMETERED_CALLS = /:(?:(?:async)?batch(?:Generate|Embed)Content|predict(?:LongRunning)?)$/i;
/** No model works for these. */
const FREE = /(?:\/count[_-]tokens|\/cancel|:countTokens)$/i;
/** The methods by which clients of the providers ask models. */
const ASKING: readonly string[] = ["POST", "PUT", "PATCH"];
/** The forms of Gemini's answers that can be read. */
export const READABLE_ALT = /^(?:json|sse)$/;

/** What is wrong with a request, in words. */
type Flaw = string;

/** Whether a request asks no model, whatever its body. */
export function isFree({ url }: RequestHead): boolean {
  return FREE.test(pathOf(url));
}

/** Why nobody can know what a request costs, as far as its head tells. The path decides before the form of the body. */
export function flawOfHead(request: RequestHead): Flaw | undefined {
  const { headers, url } = request;
  // Nobody follows another protocol here: HTTP clients offer h2c with any request.
  if (/websocket/i.test(headers.get("Upgrade") ?? "")) return "Sockets aren't metered.";
  if (!isAsking(request) || request.body === null || isFree(request)) return undefined;
  if (isUnmeteredPath(url)) return `Requests with ${UNMETERED_SEGMENTS.join(", ")} in their path aren't metered.`;
  return isEncoded(headers) ? "Compressed bodies aren't metered: send it without Content-Encoding." : undefined;
}

/** The same of a body that was read. A body that is cut counts by its length. */
export function flawOfBody(request: RequestHead, { json, length }: RequestBody): Flaw | undefined {
  const isReadable = json !== undefined || length === 0 || length > MAX_BYTES;
  if (isReadable || !isAsking(request) || isFree(request) || formatOf(request)) return undefined;
  return "The body isn't JSON, and the path names no API whose requests are metered.";
}

/** Why the answer of a request could not be read, although its model could be metered. */
export function flawOfForm(request: RequestHead): Flaw | undefined {
  if (request.body === null || formatOf(request) !== "google-gemini") return undefined;
  const { searchParams } = new URL(request.url);
  const forms = [...searchParams.getAll("alt"), ...searchParams.getAll("$alt")];
  return forms.every((form) => READABLE_ALT.test(form)) ? undefined : "Only alt=json and alt=sse are metered.";
}

/**
 * Whether a model may have answered all the same, so that the answer of a request that costs what the policy says is
 * read: an origin may ignore `Content-Encoding`, or find JSON where nobody else does. Else that would be a discount.
 */
export function mayBeAnswered(request: RequestHead): boolean {
  return formatOf(request) !== undefined || !isUnmeteredPath(request.url);
}

/** Whether the policy refuses what nobody can meter. */
export function refusesUnmetered({ meter, mode }: Policy): boolean {
  return meter !== undefined && mode === "enforce" && (meter.unmetered ?? "refuse") === "refuse";
}

/** What such a request costs instead. Undefined: nothing, because it is refused, or would be outside of shadow. */
export function unmeteredUnits({ unmetered = "refuse", unit }: Meter): number | undefined {
  return unmetered === "refuse" ? undefined : toUnits(unmetered.cost, unit);
}

export function refusalOf(flaw: Flaw): Reason {
  const problem = { type: ProblemType.blank, title: "Bad Request", status: 400, detail: flaw };
  return { problem, retryAfterMs: undefined };
}

function isAsking(request: RequestHead): boolean {
  return methodsOf(request).some((method) => ASKING.includes(method));
}

function isUnmeteredPath(url: string): boolean {
  const path = pathOf(url);
  return UNMETERED.test(path) || UNMETERED_CALLS.test(path);
}

function pathOf(url: string): string {
  return normalizePath(new URL(url).pathname);
}
