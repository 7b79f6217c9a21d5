import type { RateLimitService } from "headgate/worker";

interface Env {
  readonly HEADGATE: Service<typeof RateLimitService>;
}

export default {
  async fetch(request, env) {
    const user = request.headers.get("X-User") ?? "nobody";
    const { allowed, remaining, retryAfterMs } = await env.HEADGATE.take("api", { key: `user:${user}`, cost: 1 });
    if (allowed) return Response.json({ remaining });
    const seconds = Math.max(1, Math.ceil((retryAfterMs ?? 0) / 1000));
    return new Response("Too many requests.\n", { status: 429, headers: { "Retry-After": String(seconds) } });
  },
} satisfies ExportedHandler<Env>;
