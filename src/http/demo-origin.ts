/** The origin while none is configured, to try limits with: it tells which request came, and sends a body back. */

export function demoOrigin(request: Request): Response {
  const { pathname, search } = new URL(request.url);
  if (request.body !== null) {
    const type = request.headers.get("Content-Type") ?? "application/octet-stream";
    // A stream of its own, because `wrangler dev` reads the rest of a request's body as soon as there is an answer.
    return new Response(request.body.pipeThrough(new TransformStream()), { headers: { "Content-Type": type } });
  }
  return Response.json({ origin: "headgate demo", method: request.method, path: `${pathname}${search}` });
}
