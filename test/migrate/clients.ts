// Clients that no other test has, and what headgate has counted for them.

import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { redisStore } from "../../src/limiter/stores/redis-store.ts";
import { createLimiter, type KeyByHand } from "../../src/limiter.ts";

/** An IPv4 address for tests (198.18.0.0/15). */
export function newAddress(): string {
  const [a, b, c] = randomBytes(3);
  return `198.${18 + (a! & 1)}.${b}.${c}`;
}

export const newUser = () => `user-${randomBytes(8).toString("hex")}`;

/** Units charged to a client of the guides' policy. Limits with the same window read the same count. */
export async function storedCount(client: KeyByHand): Promise<number> {
  const limiter = createLimiter({
    policies: [{ name: "api", key: ["header:x-user", "ip"], limits: [{ limit: 1_000, window: "1h" }] }],
    store: redisStore({ url: inject("restUrl"), token: inject("restToken"), timeoutMs: 10_000 }),
  });
  const { remaining } = await limiter.peek("api", { ...client, cost: 0 });
  return 1_000 - remaining!;
}
