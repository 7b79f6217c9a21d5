/**
 * `/.headgate/limits`: the document as a page for people and as JSON for programs. It asks the store for nothing but
 * the live document, as every request does.
 */

import type { Settings } from "../../config/settings.ts";
import type { Policy } from "../../core/policy.ts";
import type { Background } from "../../limiter.ts";
import { prefersHtml } from "../problem.ts";
import { describeLimits } from "./document.ts";
import { contentSecurityPolicy, digest, renderPage } from "./page.tsx";

/** @param policiesNow the policies with the numbers and modes that hold. */
export function serveLimits(
  settings: Settings,
  regionOf: (request: Request) => string,
  policiesNow: (background: Background) => Promise<readonly Policy[]>,
): (request: Request, background: Background) => Promise<Response> {
  return async (request, background) => {
    const html = prefersHtml(request);
    const policies = await policiesNow(background);
    const document = describeLimits({ ...settings, policies }, regionOf(request));
    const body = html ? renderPage(document) : JSON.stringify(document);
    const etag = `"${await digest(body)}"`;
    const headers = {
      "Content-Type": html ? "text/html; charset=utf-8" : "application/json",
      ...(html && { "Content-Security-Policy": await contentSecurityPolicy() }),
      // Another client may be in another region: shared caches must not keep the answer.
      "Cache-Control": "private, max-age=60",
      ETag: etag,
      Vary: "Accept",
      "Access-Control-Allow-Origin": "*",
      "X-Content-Type-Options": "nosniff",
    };
    if (isCurrent(request.headers.get("If-None-Match"), etag)) return new Response(null, { status: 304, headers });
    return new Response(request.method === "HEAD" ? null : body, { headers });
  };
}

/** Weak comparison (RFC 9110, section 13.1.2): compression on the way makes a tag weak. */
function isCurrent(ifNoneMatch: string | null, etag: string): boolean {
  const tags = ifNoneMatch?.split(",").map((tag) => tag.trim().replace(/^W\//, "")) ?? [];
  return tags.includes(etag) || tags.includes("*");
}
