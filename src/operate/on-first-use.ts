/**
 * What few isolates are asked for: the limits page, the admin API, the metrics and the console. The first request for
 * one of them builds it: no other request's first answer waits for it. Whatever only admins need belongs here.
 *
 * Not by dynamic imports: in one bundle esbuild wraps every module behind them, shared ones too. The first answer came
 * 4 ms of CPU time later (2026-11).
 */

import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { parsePolicies } from "../features/configuration.ts";
import type { AssetFiles } from "../kernel/config/admin.ts";
import type { PolicyInput } from "../kernel/config/policy-input.ts";
import type { Settings } from "../kernel/config/settings.ts";
import { backgroundOf } from "../kernel/http/passage.ts";
import type { ReservedPaths } from "../kernel/http/reserved.ts";
import { limiterOf } from "../kernel/limiter/run.ts";
import type { Limiter } from "../kernel/limiter/types.ts";
import { memoryStore } from "../kernel/store/memory.ts";
import type { Store } from "../kernel/store/store.ts";
import { VERSION } from "../kernel/version.ts";
import { answer } from "./admin/answers.ts";
import { createGate, createSessions, serveSignedIn, WRONG_TOKEN_POLICIES } from "./admin/gate.ts";
import { createAdmin, serveMetrics } from "./admin/serve-admin.ts";
import { clientFacts, doctorFacts, type NamedPlaces } from "./doctor.ts";
import type { ReadExplanation } from "./explain.ts";
import { LOOK_POLICIES, type RemainingOptions, serveLimits, serveRemaining } from "./limits-page/serve.ts";
import type { Stats } from "./stats/object/door.ts";
import { OPENAPI } from "./take/openapi.ts";
import { createReservations, type Reservations } from "./take/reservations.ts";
import { createTakes } from "./take/takes.ts";

/** Whether this gateway limits as configured. */
export const HEALTH_PATH = "/.headgate/health";
/** The page that tells clients their limits. */
export const LIMITS_PATH = "/.headgate/limits";
/** Exists only if the configuration says who may call it. */
const ADMIN_PATH = "/.headgate/admin";
/** Exists only with an admin, and with `STATS`. */
const METRICS_PATH = "/.headgate/metrics";
/** The operators' page over the admin API. */
const CONSOLE_PATH = "/.headgate/console";
/** Exist only with a `TAKE_TOKEN`. */
const TAKE_PATHS = { take: "/.headgate/take", settle: "/.headgate/settle", document: "/.headgate/openapi.json" };

/** What a gateway without mistakes answers. */
export const BUILT_PATHS = [LIMITS_PATH, ADMIN_PATH, METRICS_PATH, CONSOLE_PATH, ...Object.values(TAKE_PATHS)];

/** What `/.headgate/` lists. Without an admin it names nothing that is for admins. */
export function reservedPaths({ admin, takeToken, assets }: Settings, stats: Stats | undefined): ReservedPaths {
  return {
    [HEALTH_PATH]: "Whether this gateway limits as configured",
    [LIMITS_PATH]: "The limits, for people and programs",
    [`${LIMITS_PATH}/me`]: "What you have left",
    ...(takeToken !== undefined && { [TAKE_PATHS.document]: "The API for programs that take from the limits" }),
    ...(admin && {
      [`${ADMIN_PATH}/policies`]: "The admin API, for operators",
      ...(stats && { [METRICS_PATH]: "Metrics for Prometheus, for operators" }),
      ...(assets && { [CONSOLE_PATH]: "The console, for operators" }),
    }),
  };
}

/** How the gateway answers other requests, and how its explain tokens are read. */
interface Answering extends Omit<RemainingOptions, "looks"> {
  /** Undefined: there are no metrics. */
  readonly stats: Stats | undefined;
  /** Undefined: `EXPLAIN` is off. */
  readonly readExplanation: ReadExplanation | undefined;
  readonly store: Store;
  /** The places of the store, as operators know them. */
  readonly places: NamedPlaces;
}

/** Adds the routes. */
export function serveOnFirstUse(app: Hono, settings: Settings, given: Answering): void {
  const { stats, readExplanation, store, places, ...answering } = given;
  const { limiter, regionOf } = answering;

  const limits = onFirstUse(() => {
    const serve = serveLimits(settings, answering);
    return (c) => serve(c.req.raw, backgroundOf(c));
  });
  app.get(LIMITS_PATH, limits);

  const remaining = onFirstUse(() => {
    const serve = serveRemaining({ ...answering, looks: limiterInMemory(LOOK_POLICIES, settings) });
    return (c) => serve(c.req.raw);
  });
  app.get(`${LIMITS_PATH}/me`, remaining);

  const { admin, takeToken: token, assets } = settings;
  /** All that ask for a token count wrong ones together. */
  const wrongTokens = once(() => limiterInMemory(WRONG_TOKEN_POLICIES, settings));
  if (token !== undefined) {
    const takes = once(() => {
      const needs = "This needs the gateway's TAKE_TOKEN.";
      const gate = createGate({ token }, wrongTokens(), undefined, answering.addressOf, needs);
      return createTakes({ ...answering, gate, reservations: reservationsOf(settings, store) });
    });
    app.post(TAKE_PATHS.take, (c) => takes().take(c));
    app.post(TAKE_PATHS.settle, (c) => takes().settle(c));
    app.get(TAKE_PATHS.document, () => answer(OPENAPI));
  }
  if (!admin) return;
  const entrance = once(() => {
    const sessions = admin.token === undefined ? undefined : createSessions(admin.token);
    return { sessions, gate: createGate(admin, wrongTokens(), sessions, answering.addressOf) };
  });
  const calls = onFirstUse(() => {
    const diagnose = (request: Request) => {
      return doctorFacts(settings, store, places, clientFacts(request, settings.clientIp, answering.addressOf));
    };
    const served = createAdmin({ ...entrance(), limiter, stats, regionOf, readExplanation, diagnose });
    const mounted = new Hono().route(ADMIN_PATH, served);
    return (c) => mounted.fetch(c.req.raw, c.env, backgroundOf(c));
  });
  app.all(`${ADMIN_PATH}/*`, calls);
  if (stats) {
    const metrics = onFirstUse(() => serveMetrics(stats, entrance().gate, VERSION));
    app.get(METRICS_PATH, metrics);
  }
  const signedIn = onFirstUse(() => serveSignedIn(entrance().gate));
  app.get(`${CONSOLE_PATH}/session`, signedIn);
  if (!assets) return;
  const console = serveConsole(assets, CONSOLE_PATH);
  app.get(`${CONSOLE_PATH}/*`, async (c, next) => (await console(c.req.raw, c.req.path)) ?? (await next()));
}

type Serve = (c: Context) => Response | Promise<Response>;

function onFirstUse(build: () => Serve): Serve {
  const serve = once(build);
  return (c) => serve()(c);
}

function once<T>(build: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= build();
    return made;
  };
}

/** @param written policies of this program, without a mistake. */
function limiterInMemory(written: readonly PolicyInput[], { ipv6Prefix }: Settings): Limiter {
  const policies = parsePolicies(written, "policies").value!;
  return limiterOf(policies, { parts: [], store: memoryStore({ maxKeys: 1_000 }), ipv6Prefix });
}

/** Reservations are sealed with a key derived from the key secret, and everybody knows that of the memory store. */
function reservationsOf({ keySecret, namespace }: Settings, store: Store): Reservations {
  const fallback = store.kind === "memory" ? crypto.randomUUID() : store.keySecret;
  return createReservations(store, { keySecret, fallback }, namespace);
}

/** Of the console's files. They hold no data: the page gets what it shows from the admin API. */
const CONSOLE_HEADERS = {
  "Content-Security-Policy": [
    ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:"],
    ...["base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"],
  ].join("; "),
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  // Ask again each time: after a deployment no page may go on with the scripts of the last one. A 304 is short.
  "Cache-Control": "private, no-cache",
};

/** Header fields that are copied from the files' own answers. */
const KEPT = ["Content-Type", "Content-Length", "ETag"];

/**
 * The operators' page, as static files: nobody has to sign in to load them. Undefined: there is no such file.
 *
 * @param base of the console's paths, without a slash at its end. The `path` of a request begins with it: the path as
 * the router has matched it, which is decoded. The URL's own path may begin with `/.headgate/consol%65`.
 */
function serveConsole(files: AssetFiles, base: string) {
  return async (request: Request, path: string): Promise<Response | undefined> => {
    const { origin } = new URL(request.url);
    const file = path.slice(base.length).replace(/^\/?$/, "/index.html");
    const ifNoneMatch = request.headers.get("If-None-Match");
    const asking: HeadersInit = ifNoneMatch ? { "If-None-Match": ifNoneMatch } : {};
    const found = await files.fetch(new Request(origin + file, { method: request.method, headers: asking }));
    if (found.status !== 200 && found.status !== 304) return undefined;
    const headers = new Headers(CONSOLE_HEADERS);
    for (const name of KEPT) {
      const value = found.headers.get(name);
      if (value !== null) headers.set(name, value);
    }
    return new Response(found.body, { status: found.status, headers });
  };
}
