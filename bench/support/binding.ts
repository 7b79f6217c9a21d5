/** A Worker with the rate limit binding. Only Miniflare simulates the binding. Its windows are 10 or 60 s. */

import { convertV4MiniflareOptions, Miniflare, type V4MiniflareOptions } from "miniflare";

export async function startBinding(code: string, limit: number, windowMs: number) {
  // The same limit over the shortest window that the binding has.
  const period = windowMs <= 10_000 ? 10 : 60;
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: [{ type: "ESModule", path: "worker.js", contents: code }],
      compatibilityDate: "2026-10-01",
      cf: false,
      handleStructuredLogs() {},
      ratelimits: {
        LIMITER: {
          namespace_id: "1",
          simple: { limit: Math.max(1, Math.round((limit * period * 1000) / windowMs)), period },
        },
      },
    } as V4MiniflareOptions),
  );
  const url = await miniflare.ready;
  return { port: Number(url.port), cpuMs: () => undefined, stop: () => miniflare.dispose() };
}
