/** Our own error answers, as problem details (RFC 9457). */

import { BoundedMap } from "../bounded-map.ts";
import type { RequestHead } from "../request/request-head.ts";
import { errorType } from "./sdk-errors.ts";

export interface Problem {
  /** A URI that names the kind of problem. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  /** For people. */
  readonly detail: string;
  /** Extension members. */
  readonly [member: string]: unknown;
}

/** Types of problem. draft-ietf-httpapi-ratelimit-headers registers the first two with IANA. */
export const ProblemType = {
  quotaExceeded: "https://iana.org/assignments/http-problem-types#quota-exceeded",
  temporaryReducedCapacity: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
  misconfigured: "urn:headgate:problem:misconfigured",
  /** An operator has blocked the client (src/features/live). */
  blocked: "urn:headgate:problem:blocked",
  /** Means the same as the status (RFC 9457, section 4.2.1). */
  blank: "about:blank",
} as const;

export interface ProblemOptions {
  /** Where clients find more: in `Link`, and as a link on the page. */
  readonly helpPath?: string | undefined;
  /** Pages of any origin may read the answer. Default true, because no origin server could decide on it. */
  readonly anyOrigin?: boolean | undefined;
}

/**
 * The problem as `application/problem+json`, or as a small page for a browser.
 *
 * @param headers as for `errorResponse`.
 */
export function problemResponse(
  request: RequestHead,
  problem: Problem,
  headers: Record<string, string> = {},
  options: ProblemOptions = {},
): Response {
  const [body, form] = prefersHtml(request)
    ? [problemPage(problem, options.helpPath), HTML]
    : [problemJson(problem), PROBLEM];
  return errorResponse(request, { status: problem.status, body, form }, headers, options);
}

/** The fields that tell how an answer is written. */
type Form = Readonly<Record<string, string>> & { readonly "Content-Type": string; readonly Vary?: string };

const PROBLEM: Form = { "Content-Type": "application/problem+json", Vary: "Accept" };
const HTML: Form = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
  Vary: "Accept",
};

/**
 * An error answer of ours, in whatever form. No cache may store it.
 *
 * @param request the request to answer: HEAD gets no body. @param headers are added to ours; pages of another origin
 * may read them.
 */
export function errorResponse(
  request: RequestHead,
  {
    status,
    body,
    form,
  }: { readonly status: number; readonly body: string | Uint8Array<ArrayBuffer>; readonly form: Form },
  headers: Record<string, string>,
  { helpPath, anyOrigin = true }: ProblemOptions,
): Response {
  const origin = request.headers.get("Origin");
  const fixed = fixedFields(form, helpPath);
  const text = request.method === "HEAD" ? null : body;
  let response = new Response(text, { status, headers: fixed });
  // The Response of @hono/node-server keeps the object that it gets. Every other one has copied it.
  if (response.headers === fixed) response = new Response(text, { status, headers: new Headers(fixed) });
  const fields = response.headers;
  if (origin !== null) {
    fields.append("Vary", "Origin");
    if (anyOrigin) fields.set("Access-Control-Allow-Origin", origin);
    const shown = Object.keys(headers).join(", ");
    if (shown) fields.set("Access-Control-Expose-Headers", shown);
  }
  for (const name in headers) fields.set(name, headers[name]!);
  return response;
}

/**
 * Header fields by form and help path. In workerd a Response takes 5 µs with a copy of them, and 8 µs with new fields
 * (2026-11). There are few forms, but some have the type that a client sends.
 */
const fixed = new BoundedMap<string, Headers>({ maxSize: 100 });

/** The fields that are the same in every answer of this form. */
function fixedFields(form: Form, helpPath: string | undefined): Headers {
  // A policy's own refusal may have the type of our page, without its other fields.
  const name = `${form["Content-Type"]} ${form.Vary} ${helpPath}`;
  let fields = fixed.get(name);
  if (!fields) {
    const link = helpPath !== undefined && { Link: `<${helpPath}>; rel="help"` };
    fields = new Headers({ ...form, "Cache-Control": "no-store", ...link });
    fixed.set(name, fields);
  }
  return fields;
}

/** Characters; a browser's `Accept` has about 150. Parsing 64 KiB takes several ms. */
const LONGEST_ACCEPT = 1_024;

/** A client gets HTML if it names HTML and prefers it to JSON: browsers do; curl and fetch send `*`. */
export function prefersHtml({ headers }: RequestHead): boolean {
  const accept = headers.get("Accept") ?? "";
  if (accept.length > LONGEST_ACCEPT || !/html/i.test(accept)) return false;
  const qualities = accept
    .toLowerCase()
    .split(",")
    .map((range): [type: string, quality: number] => {
      const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
      return [type, Number(parameters.find((one) => one.startsWith("q="))?.slice(2) ?? 1)];
    });
  const qualityOf = (...types: string[]) => {
    const found = qualities.filter(([type, quality]) => types.includes(type) && Number.isFinite(quality));
    return Math.max(0, ...found.map(([, quality]) => quality));
  };
  return qualityOf("text/html") > qualityOf("application/problem+json", "application/json");
}

/** Problems as they are written: one is answered many times. */
const written = new WeakMap<Problem, string>();

/**
 * The sentence stands in `message` and in `error` too: octokit looks for it in the one, the SDKs of OpenAI, Stripe and
 * others in the other.
 */
export function problemJson(problem: Problem): string {
  const known = written.get(problem);
  if (known !== undefined) return known;
  const { detail: message, status, title } = problem;
  const code = title.toLowerCase().replaceAll(" ", "_");
  const text = JSON.stringify({ ...problem, message, error: { message, type: errorType(status), code } });
  written.set(problem, text);
  return text;
}

function problemPage({ status, title, detail }: Problem, helpPath: string | undefined): string {
  const help =
    helpPath === undefined ? [] : [`<a href="${escapeHtml(helpPath)}">Rate limits, and what you have left</a>`];
  const paragraphs = [escapeHtml(detail), ...help].map((text) => `<p>${text}</p>`);
  return pageOf(`${status} ${escapeHtml(title)}`, paragraphs.join("\n"));
}

/** A small page. @param title of the page, and its heading; in HTML, as `body` is. */
export function pageOf(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;margin:15vh auto;max-width:36rem;padding:0 1rem}</style>
<h1>${title}</h1>
${body}
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
