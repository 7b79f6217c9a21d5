import { createLimiter, storeFromEnv, withRateLimit } from "headgate";
import { type NextFetchEvent, type NextRequest, NextResponse } from "next/server";

const limiter = createLimiter({
  policies: [{ name: "hello", key: "ip", limits: [{ limit: 2, window: "1m" }] }],
  store: storeFromEnv(process.env),
});
const limited = withRateLimit(() => NextResponse.next(), limiter, { clientIp: { header: "x-forwarded-for" } });

export function proxy(request: NextRequest, event: NextFetchEvent) {
  return limited.fetch(request, undefined, event);
}

export const config = { matcher: "/((?!_next/).*)" };
