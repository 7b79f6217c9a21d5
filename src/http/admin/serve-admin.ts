/**
 * `/.headgate/admin`: what operators see and change while the gateway runs (docs/live.md). Every call first passes the
 * gate: without it nothing tells which paths exist.
 */

import { Hono } from "hono/tiny";
import type { AdminSettings } from "../../config/admin.ts";
import { createLiveEditor } from "../../limiter/live/edit.ts";
import { type InsideLimiter, isStoreError, type Limiter } from "../../limiter.ts";
import type { Stats } from "../../stats/object/door.ts";
import { notFound, unavailable } from "./answer.ts";
import { type AdminApp, type AdminEnv, createCalls } from "./calls.ts";
import { serveCounts } from "./counts.ts";
import { createGate } from "./gate.ts";
import { serveLive } from "./live.ts";
import { serveOverrides } from "./overrides.ts";
import { servePolicies } from "./policies.ts";
import { serveStats } from "./stats.ts";

export interface AdminOptions {
  readonly settings: AdminSettings;
  readonly limiter: InsideLimiter;
  /** Undefined: there are no metrics. */
  readonly stats: Stats | undefined;
  /** A limiter of `WRONG_TOKEN_POLICIES` with a memory store. */
  readonly wrongTokens: Limiter;
  readonly regionOf: (request: Request) => string;
}

/** A Hono app, to be mounted. */
export function createAdmin({ settings, limiter, stats, wrongTokens, regionOf }: AdminOptions): AdminApp {
  const gate = createGate(settings, wrongTokens);
  const app = new Hono<AdminEnv>();
  app.use("*", async (c, next) => {
    const admin = await gate(c.req.raw);
    if (admin instanceof Response) return admin;
    c.set("by", admin.by);
    const work = next();
    // A change that has begun ends, and is written to the log, also if the admin goes away.
    c.executionCtx.waitUntil(work.catch(() => {}));
    return await work;
  });
  const { live } = limiter;
  const calls = createCalls({ limiter, regionOf, editor: live && createLiveEditor(live, limiter.policies) });
  serveStats(app, stats);
  for (const serve of [servePolicies, serveCounts, serveOverrides, serveLive]) serve(app, calls);
  app.all("*", () => notFound("The admin API has no such call."));
  app.onError((error) => {
    if (!isStoreError(error)) throw error;
    return unavailable("The store does not answer. What was being changed may have been changed or not.");
  });
  return app;
}
