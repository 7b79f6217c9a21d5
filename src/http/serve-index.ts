/** `/.headgate/`: the reserved paths that exist in this configuration, for people and programs. */

import type { Hono } from "hono/tiny";
import { prefersHtml } from "./problem.ts";

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
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Paths of this gateway</title>
<style>:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;margin:15vh auto;max-width:36rem;padding:0 1rem}</style>
<h1>Paths of this gateway</h1>
<dl>${rows.join("")}</dl>
</html>
`;
}
