/**
 * `/.headgate/console`: the operators' page, as static files. They hold no data: the page gets what it shows from the
 * admin API. Nobody has to sign in to load the files.
 */

import type { AssetFiles } from "../config/admin.ts";

const HEADERS = {
  "Content-Security-Policy": [
    ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:"],
    ...["base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"],
  ].join("; "),
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  // Ask again each time: after a deployment no page may go on with the scripts of the last one. A 304 is short.
  "Cache-Control": "private, no-cache",
};

/** Header fields that are copied from the files' own answers. */
const KEPT = ["Content-Type", "Content-Length", "ETag"];

/** @returns the answer to a GET or HEAD request. Undefined: there is no such file. */
type ServeConsole = (request: Request, path: string) => Promise<Response | undefined>;

/**
 * @param base of the console's paths, without a slash at its end. The `path` of a request begins with it: the path as
 * the router has matched it, which is decoded. The URL's own path may begin with `/.headgate/consol%65`.
 */
export function serveConsole(files: AssetFiles, base: string): ServeConsole {
  return async (request, path) => {
    const { origin } = new URL(request.url);
    const file = path.slice(base.length).replace(/^\/?$/, "/index.html");
    const ifNoneMatch = request.headers.get("If-None-Match");
    const asking: HeadersInit = ifNoneMatch ? { "If-None-Match": ifNoneMatch } : {};
    const found = await files.fetch(new Request(origin + file, { method: request.method, headers: asking }));
    if (found.status !== 200 && found.status !== 304) return undefined;
    const headers = new Headers(HEADERS);
    for (const name of KEPT) {
      const value = found.headers.get(name);
      if (value !== null) headers.set(name, value);
    }
    return new Response(found.body, { status: found.status, headers });
  };
}
