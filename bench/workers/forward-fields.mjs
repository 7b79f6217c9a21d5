/**
 * What every gateway in front of an origin must do: end a request together with its client, end a request that takes
 * too long, keep a proxy's credentials to itself, and say in header fields what it did. It has no limiter.
 */

import { Hono } from "hono";
import { withFields } from "./fields.mjs";

const TIMEOUT_MS = 30_000;

const app = new Hono();
app.all("*", async (c) => {
  const request = c.req.raw;
  const { pathname, search } = new URL(request.url);
  const outgoing = new Request(`${c.env.ORIGIN_URL}${pathname}${search}`, request);
  outgoing.headers.delete("Proxy-Authorization");
  outgoing.headers.delete("Proxy-Connection");
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), TIMEOUT_MS);
  try {
    const signal = AbortSignal.any([request.signal, late.signal]);
    return withFields(await fetch(outgoing, { redirect: "manual", signal }));
  } finally {
    clearTimeout(timer);
  }
});
export default app;
