/** What answers when no origin is configured, so that the limits can be tried: says what it was asked, echoes bodies. */

export function demoOrigin(request: Request): Response {
  const { pathname, search } = new URL(request.url);
  if (request.body !== null) {
    const type = request.headers.get("Content-Type") ?? "application/octet-stream";
    // Through a stream of its own: `wrangler dev` reads what is left of a request's body once there is an answer.
    return new Response(request.body.pipeThrough(new TransformStream()), { headers: { "Content-Type": type } });
  }
  return Response.json({ origin: "headgate demo", method: request.method, path: `${pathname}${search}` });
}
