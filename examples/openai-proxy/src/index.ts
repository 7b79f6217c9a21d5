import { createLimiter, meter, storeFromEnv } from "headgate";
import { estimateRequest, meterResponse, refusal, reservedUnits } from "headgate/llm";

interface Env {
  readonly OPENAI_URL: string;
}

/** Dollars per million tokens: put in your provider's. */
const prices = {
  "gpt-5*": { input: 1.25, cachedInput: 0.125, output: 10 },
  default: { input: 15, output: 75 },
};

function makeLimiter(env: Env) {
  return createLimiter({
    policies: [
      { name: "requests", key: "bearer", limits: [{ limit: 60, window: "1m" }] },
      { name: "tokens", key: "bearer", meter: { unit: "tokens" }, limits: [{ limit: 10_000, window: "1m" }] },
      {
        name: "dollars",
        key: "bearer",
        meter: { unit: "usd", prices },
        limits: [{ algorithm: "fixed-window", limit: 5, window: "1d" }],
      },
      { name: "at-once", key: "bearer", limits: [{ algorithm: "concurrency", limit: 10 }] },
    ],
    features: [meter()],
    store: storeFromEnv(env),
  });
}

let limiter: ReturnType<typeof makeLimiter> | undefined;

export default {
  async fetch(given, env, ctx) {
    const token = /^Bearer (.+)$/i.exec(given.headers.get("Authorization") ?? "")?.[1];
    if (token === undefined) return new Response("expected Authorization: Bearer <key>", { status: 401 });
    limiter ??= makeLimiter(env);
    const { request, estimate } = await estimateRequest(given);

    // Only what is sent to a model has a price.
    const applying = limiter.policies.filter(({ meter }) => !meter || request.method === "POST");
    const takes = applying.map(({ name, meter }) => ({
      policy: name,
      cost: meter ? reservedUnits(meter, estimate) : 1,
      kind: "bearer",
      key: token,
    }));
    const reservation = await limiter.reserve(takes, { background: ctx });
    const { outcome, limits, retryAfterMs } = reservation.decision;
    if (outcome !== "admitted") {
      const isUnavailable = outcome === "unavailable";
      const names = limits.filter(({ admitted }) => !admitted).map(({ policy }) => policy.name);
      return refusal(estimate.format, {
        status: isUnavailable ? 503 : 429,
        message: isUnavailable ? "The limits cannot be checked now." : `Over the limit of ${names.join(" and ")}.`,
        retryAfterMs,
        never: !isUnavailable && retryAfterMs === undefined,
      });
    }

    const { pathname, search } = new URL(request.url);
    const asking = new Request(env.OPENAI_URL + pathname + search, request);
    // A compressed answer cannot be read.
    asking.headers.set("Accept-Encoding", "identity");
    const answer = async () => {
      try {
        const meters = Object.fromEntries(applying.flatMap(({ name, meter }) => (meter ? [[name, meter]] : [])));
        const options = { estimate, meters, background: ctx, signal: given.signal };
        // A client that leaves does not end the request: an error of the provider must give its reservation back.
        return meterResponse(await fetch(asking, { signal: null }), reservation, options);
      } catch (error) {
        ctx.waitUntil(reservation.release());
        throw error;
      }
    };
    const answered = answer();
    ctx.waitUntil(answered.catch(() => {}));
    return await answered;
  },
} satisfies ExportedHandler<Env>;
