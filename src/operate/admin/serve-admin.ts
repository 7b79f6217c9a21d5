/**
 * `/.headgate/admin`: what operators see and change while the gateway runs (docs/operate.md). Every call first passes
 * the gate: without it nothing tells which paths exist.
 */

import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { toWritten } from "../../kernel/core/units.ts";
import { backgroundOf } from "../../kernel/http/passage.ts";
import { createLines } from "../../kernel/lines.ts";
import { keepAlive } from "../../kernel/place/taker.ts";
import { isStoreError } from "../../kernel/store/failure.ts";
import type { DoctorFacts } from "../doctor.ts";
import type { ReadExplanation } from "../explain.ts";
import type { RemainingOptions } from "../limits-page/serve.ts";
import { CONTENT_TYPE, MAX_MINUTES, prometheusText, type Stats } from "../stats/object/door.ts";
import { answer, badRequest, notFound, unavailable } from "./answers.ts";
import {
  type AdminApp,
  type AdminCalls,
  type AdminEnv,
  audit,
  audited,
  createCalls,
  etagOf,
  type NamedClient,
  shownClient,
} from "./calls.ts";
import { ENDED, type Gate, type Sessions } from "./gate.ts";
import { serveLive, serveOverrides, servePolicies } from "./live.ts";

interface AdminOptions extends Pick<RemainingOptions, "limiter" | "regionOf"> {
  readonly gate: Gate;
  /** Absent: there is no token to begin one with. */
  readonly sessions: Sessions | undefined;
  /** Undefined: there are no metrics. */
  readonly stats: Stats | undefined;
  /** Absent: refusals carry no tokens. */
  readonly readExplanation: ReadExplanation | undefined;
  /** What `headgate doctor` asks for. */
  diagnose(request: Request): Promise<DoctorFacts>;
}

export function createAdmin(options: AdminOptions): AdminApp {
  const { gate, sessions, limiter, stats, regionOf, readExplanation, diagnose } = options;
  const app = new Hono<AdminEnv>();
  app.use("*", async (c, next) => {
    const admin = await gate(c.req.raw);
    if (admin instanceof Response) return admin;
    c.set("admin", admin);
    // A change that has begun ends, and is written to the log, also if the admin goes away.
    return await keepAlive(next(), backgroundOf(c));
  });
  const calls = createCalls(limiter, regionOf);
  serveStats(app, stats);
  for (const serve of [servePolicies, serveCounts, serveOverrides, serveLive]) serve(app, calls);
  serveSession(app, sessions);
  serveExplain(app, readExplanation);
  app.get("/doctor", async (c) => answer(await diagnose(c.req.raw)));
  app.all("*", () => notFound("The admin API has no such call."));
  app.onError((error) => {
    if (!isStoreError(error)) throw error;
    return unavailable("The store does not answer. The change may or may not have been made.");
  });
  return app;
}

const AWAY = "The counts cannot be read: the store does not answer.";

/** `/counts/<policy>`: what each limit holds for a client. */
function serveCounts(app: AdminApp, { limiter, editor, forClient }: AdminCalls): void {
  /** Policies in shadow count too. Undefined: the store does not answer. */
  async function look(c: Context, { applied, region }: NamedClient) {
    const decision = await limiter.inspect(applied, region, backgroundOf(c));
    const limits = decision.policies[0]!.limits.map(({ limit, remaining, resetAfterMs }) => {
      const written = (units: number) => toWritten(units, limit.unit);
      const numbers = { limit: written(limit.limit), remaining: written(remaining) };
      return { id: limit.id, ...(limit.unit && { unit: limit.unit }), ...numbers, resetAfterMs };
    });
    // Of several places one may have no answer: its limits are missing.
    const isThere = ({ id }: { readonly id: string }) => limits.some((one) => one.id === id);
    const isWhole = decision.source !== "fallback" && applied.policy.limits.every(isThere);
    return isWhole ? limits : undefined;
  }

  app.get(
    "/counts/:policy",
    forClient(async (c, client, policy) => {
      const { partition } = client.applied;
      const newest = await editor?.newest();
      const limits = await look(c, client);
      const override = newest?.view?.client(policy.name, partition, Date.now())?.override ?? null;
      const live = { version: newest?.version, override };
      // An operator who blocks a client needs its override, and this client may be why the store has no answer.
      if (!limits) return unavailable(AWAY, live);
      return answer(
        { ...shownClient(client.applied), ...live, limits },
        newest ? { ETag: etagOf(newest.version) } : {},
      );
    }),
  );

  app.delete(
    "/counts/:policy",
    forClient(async (c, client, policy) => {
      const before = await look(c, client);
      if (!before) return unavailable(AWAY);
      const shown = shownClient(client.applied);
      const entry = { by: c.get("admin").by, call: `DELETE /counts/${policy.name}`, client: shown, before };
      await audited(entry, () => limiter.resetClient(client.applied, client.region));
      audit({ ...entry, after: [] });
      return answer(shown);
    }),
  );
}

const WRONG = {
  old: "This token is older than 10 minutes.",
  foreign: "This is not a token of this gateway: it was changed or cut off, or made under another key secret.",
};

/** What the token of a refusal tells. @param read absent: refusals carry no tokens. */
function serveExplain(app: AdminApp, read: ReadExplanation | undefined): void {
  app.get("/explain", async (c) => {
    if (!read) return notFound("EXPLAIN is off: this gateway's refusals carry no tokens.");
    const token = c.req.query("token");
    if (!token) return badRequest("Expected ?token=, the Headgate-Explain header of a refusal.");
    const found = await read(token);
    return "wrong" in found ? badRequest(WRONG[found.wrong]) : answer(found);
  });
}

/**
 * `/session`.
 *
 * @param sessions absent: there is no token to begin one with. Cloudflare Access has sessions of its own.
 */
function serveSession(app: AdminApp, sessions: Sessions | undefined): void {
  app.post("/session", async (c) => {
    if (!sessions || !c.get("admin").hasToken) {
      return badRequest("Start a session with the admin token: Authorization: Bearer <token>.");
    }
    return empty(await sessions.begin(Date.now()));
  });

  app.delete("/session", async () => empty(ENDED));
}

function empty(cookie: string): Response {
  return new Response(null, { status: 204, headers: { "Set-Cookie": cookie, "Cache-Control": "no-store" } });
}

const DEFAULT_MINUTES = "60";

const write = createLines();

/** `/stats`: what all isolates have counted, over time. */
function serveStats(app: AdminApp, stats: Stats | undefined): void {
  app.get("/stats", async (c) => {
    if (!stats) return notFound("This gateway has no metrics: STATS is not bound, or STATS_FLUSH is 0s.");
    const text = c.req.query("minutes") ?? DEFAULT_MINUTES;
    const minutes = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    if (minutes < 1 || minutes > MAX_MINUTES)
      return badRequest(`minutes: expected an integer from 1 to ${MAX_MINUTES}.`);
    return await answered(async () => answer(await stats.read(minutes)));
  });
}

/** For Prometheus, the sums since counting began. @param version of this gateway. */
export function serveMetrics(stats: Stats, gate: Gate, version: string): (c: Context) => Promise<Response> {
  return async (c) => {
    const admin = await gate(c.req.raw);
    if (admin instanceof Response) return admin;
    return await answered(async () => {
      const headers = { "Content-Type": CONTENT_TYPE, "Cache-Control": "no-store" };
      return new Response(prometheusText(await stats.totals(), version), { headers });
    });
  };
}

async function answered(work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    const { name, message } = error as Error;
    write(() => ({ event: "stats-unread", at: new Date().toISOString(), reason: `${name}: ${message}` }));
    return unavailable("STATS does not answer.");
  }
}
