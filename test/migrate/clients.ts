// Clients that no other test has, and what headgate has counted for them.

import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { createLimiter, type KeyByHand } from "../../src/limiter.ts";
import { redisStore } from "../../src/stores/redis-store.ts";

/**
 * An IPv6 address for documentation (2001:db8::/32), in a network of its own: all tests count in one Redis, and two of
 * them must not draw the same client.
 */
export function newAddress(): string {
  const network = randomBytes(4).toString("hex");
  return `2001:db8:${network.slice(0, 4)}:${network.slice(4)}::1`;
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
