/** Paths that belong to the gateway: it answers them itself, and counts none of them. `/.headgate/` lists them. */

import type { Hono } from "hono/tiny";
import { normalizePath } from "../request/text.ts";
import { pageOf, prefersHtml } from "./problem.ts";

/** What a reserved path without anything behind it answers. */
export const NO_SUCH_PATH = "Paths under /.headgate/ belong to the gateway, and this path does not exist.";

/** `/.headgate` with every character encoded. */
const LONGEST_RESERVED = "/.headgate".length * 3;

/**
 * Whether the path is under `/.headgate/`, in any spelling. A URL without that word and without `%` in front of its
 * query is not parsed: this saves time.
 */
export function isReserved(url: string): boolean {
  if (!/^[^?]*?(?:headgate|%)/i.test(url)) return false;
  const [, first = ""] = /^\/+([^/]*)/.exec(new URL(url).pathname) ?? [];
  return normalizePath(`/${first.slice(0, LONGEST_RESERVED)}`).toLowerCase() === "/.headgate";
}

/** Whether the path is one of these, or below it. In another spelling it reaches nothing. */
export function isUnder(paths: readonly string[], url: string): boolean {
  const { pathname } = new URL(url);
  return paths.some((path) => pathname === path || pathname.startsWith(`${path}/`));
}

/** What a path is for, by path. The texts are our own: the page shows them as they are. */
export type ReservedPaths = Readonly<Record<string, string>>;

/** Adds the route. Everybody can read it: it names no path that does not exist. */
export function serveIndex(app: Hono, paths: ReservedPaths): void {
  app.get("/.headgate", (c) => {
    const headers = { "Cache-Control": "no-store", Vary: "Accept" };
    if (!prefersHtml(c.req.raw)) return c.json({ paths }, 200, headers);
    return c.html(indexPage(paths), 200, {
      ...headers,
      "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    });
  });
}

function indexPage(paths: ReservedPaths): string {
  const rows = Object.entries(paths).map(([path, use]) => `<dt><a href="${path}">${path}</a></dt><dd>${use}</dd>`);
  return pageOf("Paths of this gateway", `<dl>${rows.join("")}</dl>`);
}
