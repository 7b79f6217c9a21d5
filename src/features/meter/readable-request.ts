/** The same request, but asking for an answer in a form that can be read: without compression, and whole. */

import { withoutNamedFields } from "../../kernel/http/origin.ts";
import { formatOf } from "./llm/format.ts";
import { READABLE_ALT } from "./unmetered.ts";
import type { Upload } from "./upload.ts";

/**
 * Parameters of Google's servers by which a client chooses what of an answer it gets, or gives it another form
 * (cloud.google.com/apis/docs/system-parameters). Each is known with a `$` in front, too. Of `alt` the two forms that
 * can be read stay.
 */
const FORM_PARAMETER = /^(?:\$|(?:fields|callback|alt)$)/;

/** @param signal of the request that goes on. @param upload its body, if that is a long one. */
export function readableRequest(request: Request, signal: AbortSignal, upload: Upload | undefined): Request {
  if (!upload && !canBeSent(request)) return request;
  const format = formatOf(request);
  const isGemini = format === "google-gemini";
  const url = isGemini ? withoutForm(request.url) : request.url;
  const asked = upload ? uploading(request, url, signal, upload) : copyAt(request, url, signal);
  asked.headers.set("Accept-Encoding", "identity");
  if (format !== undefined) asked.headers.delete("Range");
  if (isGemini) asked.headers.delete("X-Goog-FieldMask");
  return asked;
}

/** Not if the program around the limiter has read the body: the program that answers has it already. */
function canBeSent({ bodyUsed, body }: Request): boolean {
  return !bodyUsed && !body?.locked;
}

/** Nobody can make a GET or HEAD with a body: one that came goes on as it is, and pays for its first 1 MiB. */
export function canBePiped(request: Request): boolean {
  return canBeSent(request) && !/^(?:GET|HEAD)$/.test(request.method);
}

function copyAt(request: Request, url: string, signal: AbortSignal): Request {
  const own = withoutNamedFields(request);
  return new Request(url === request.url ? own : new Request(url, own), { signal });
}

function uploading(request: Request, url: string, signal: AbortSignal, upload: Upload): Request {
  const { method, redirect, cf } = request;
  const { headers } = withoutNamedFields(new Request(url, { headers: request.headers }));
  const init = { method, headers, redirect, body: upload.body, duplex: "half" };
  const ended = AbortSignal.any([signal, upload.signal]);
  return new Request(url, { ...init, signal: ended, ...(cf && { cf }) } as RequestInit);
}

function withoutForm(url: string): string {
  const [, path = url, query, hash = ""] = /^([^?#]*)\?([^#]*)(#.*)?$/.exec(url) ?? [];
  if (query === undefined) return url;
  const kept = query.split("&").filter((pair) => {
    const [[name, value] = ["", ""]] = new URLSearchParams(pair);
    return !FORM_PARAMETER.test(name) || (name === "alt" && READABLE_ALT.test(value));
  });
  return `${path}${kept.length > 0 ? `?${kept.join("&")}` : ""}${hash}`;
}
