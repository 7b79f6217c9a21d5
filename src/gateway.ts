/**
 * The gateway as a Hono app: reserved paths, then policies, then the origin. One gateway for each set of bindings.
 *
 * `hono/tiny`: its router is enough for three routes, and 1.5 KiB (gzip) smaller than the default one. It ignores a
 * slash at the end of a path.
 */

import { Hono } from "hono/tiny";
import { unheardWarnings } from "./features/alerts/warnings.ts";
import { parseSettings, warningsOf } from "./features/configuration.ts";
import { DEFAULTS, partsWith } from "./features/default.ts";
import { identityOf } from "./features/identity/jwt-identity.ts";
import { allFeatures } from "./features/index.ts";
import { inOrder } from "./features/order.ts";
import { PAID_BY } from "./features/overflow/payer.ts";
import { ruledBy } from "./features/rules/rules.ts";
import { keepAtOrigin, slots } from "./features/slots/slots.ts";
import { membersOf, onceForEqual } from "./kernel/config/env.ts";
import { describeMistake, type Mistake } from "./kernel/config/mistake.ts";
import type { Bindings, Settings } from "./kernel/config/settings.ts";
import { explainWarnings, regionWarnings } from "./kernel/config/warnings.ts";
import { asCounted } from "./kernel/http/as-counted.ts";
import { addressBy } from "./kernel/http/client-ip.ts";
import { createWay } from "./kernel/http/enforce.ts";
import { createForward, createLoopGuard, withoutNamedFields } from "./kernel/http/origin.ts";
import { backgroundOf, FetchPassage } from "./kernel/http/passage.ts";
import { ProblemType, problemResponse } from "./kernel/http/problem.ts";
import { regionOf } from "./kernel/http/region.ts";
import { isReserved, isUnder, NO_SUCH_PATH, serveIndex } from "./kernel/http/reserved.ts";
import { limiterOf } from "./kernel/limiter/run.ts";
import type { InsideLimiter, Limiter } from "./kernel/limiter/types.ts";
import type { Background } from "./kernel/place/taker.ts";
import { memoryLive } from "./kernel/store/live.ts";
import type { Store } from "./kernel/store/store.ts";
import { VERSION } from "./kernel/version.ts";
import { foreignNote } from "./operate/admin/calls.ts";
import { OTHER_SECRET } from "./operate/admin/live.ts";
import { createAlerts } from "./operate/alerts/alerts.ts";
import { namedPlaces } from "./operate/doctor.ts";
import { createExplain, type Explain } from "./operate/explain.ts";
import { createProbe, statusOf } from "./operate/health.ts";
import { logDecisions, recordDecisions } from "./operate/log.ts";
import { logTokens } from "./operate/log-tokens.ts";
import { BUILT_PATHS, HEALTH_PATH, LIMITS_PATH, reservedPaths, serveOnFirstUse } from "./operate/on-first-use.ts";
import { statsDoor } from "./operate/stats/object/door.ts";
import { countsOnTheWay } from "./operate/stats/on-the-way.ts";
import { createStats } from "./operate/stats/stats.ts";
import { storeOf } from "./stores/store-from-env.ts";

export interface Gateway {
  readonly fetch: Hono["fetch"];
  /** Absent if the configuration has mistakes. */
  readonly limiter?: Limiter;
}

/**
 * The gateway of these bindings. The first call builds it, because bindings arrive with requests. Bindings that are
 * copied for each request give the same gateway if every value is the same.
 */
export const gatewayOf = onceForEqual(membersOf, createGateway, "the gateway");

export function createGateway(bindings: Bindings): Gateway {
  const parsed = parseSettings(bindings);
  return parsed.mistakes ? misconfigured(parsed.mistakes) : gateway(parsed.value);
}

function gateway(settings: Settings): Gateway {
  const store = storeFor(settings);
  const places = namedPlaces(settings, store);
  const explain = settings.explain && settings.admin ? explainOf(settings, store, () => limiter) : undefined;
  const door = statsDoor(settings.stats);
  // Metrics are for admins.
  const stats = settings.admin && door;
  const counting = stats && createStats(stats, settings.stats.flushMs, places);
  const isWarning = settings.isAlerting && settings.policies.some(({ warn }) => warn);
  const listeners = [...(settings.logTokens ? [logTokens()] : []), ...(counting ? [counting.onSettled] : [])];
  const features = allFeatures(listeners);
  const limiter: InsideLimiter = limiterOf(settings.policies, {
    parts: partsWith(features),
    store,
    namespace: settings.namespace,
    owner: settings.owner,
    ipv6Prefix: settings.ipv6Prefix,
    onDecision: [
      logDecisions(),
      ...(settings.record > 0 ? [recordDecisions(settings.record)] : []),
      ...(explain ? [explain.onDecision] : []),
      ...(counting ? [counting.onDecision] : []),
      ...(isWarning && door ? [createAlerts(door)] : []),
    ],
    ...(counting && { listenerOf: counting.listenerOf }),
    features,
    liveRefreshMs: settings.admin ? settings.liveRefreshMs : 0,
    ...(settings.keySecret !== undefined && { keySecret: settings.keySecret }),
    ...(settings.region !== undefined && { region: settings.region }),
    ...(settings.identity && { identity: identityOf(settings.identity) }),
  });
  const resolveRegion = (request: Request) => regionOf(request, settings.region, settings.regions);
  const { clientIp } = settings;
  const addressOf = clientIp && addressBy("CLIENT_IP", clientIp);
  const addressIn = addressOf && ((request: Request) => () => addressOf(request));
  const answering = {
    limiter,
    addressOf,
    rateLimitHeaders: settings.rateLimitHeaders,
    isForCaches: settings.isForCaches,
    regionOf: resolveRegion,
    helpPath: LIMITS_PATH,
  };
  const own = [
    slots(keepAtOrigin),
    ...(explain ? ruledBy(explain.rules) : []),
    ...(counting ? [countsOnTheWay(counting, limiter.policies)] : []),
  ];
  const { enter } = createWay({ ...answering, features: inOrder([...own, ...DEFAULTS, ...limiter.httpFeatures]) });
  const { toCounted } = asCounted(settings.policies, limiter.identify?.places, withoutNamedFields);
  const loops = createLoopGuard();
  const hasPayers = settings.policies.some(({ chain }) => chain);
  const forward = createForward(settings.origin, settings.originTimeoutMs, loops, hasPayers ? [] : [PAID_BY]);
  const central = settings.redis ?? settings.counts;
  // Without one there is nothing far away to ask.
  const probe = central && createProbe(new Map(places), central.timeoutMs);

  const notes = storeAndOriginNotes(settings);
  // Everybody can read health. Warnings say which policies a client can evade: they go to the operator's log only.
  const unheard = settings.isAlerting ? [] : unheardWarnings(settings.policies);
  for (const note of [...notes, ...warningsOf(settings.policies), ...regionWarnings(settings), ...unheard]) {
    console.warn(JSON.stringify({ event: "note", note }));
  }

  const app = new Hono();
  app.get(HEALTH_PATH, async (c) => {
    // One after the other: together they would open more connections than a Worker may.
    await limiter.live?.ready(backgroundOf(c));
    const found = await probe?.(backgroundOf(c));
    limiter.live?.freshen(backgroundOf(c));
    const live = limiter.live?.stored();
    const isForeign = live?.state === "foreign";
    const status = isForeign && statusOf(found) === "ok" ? "degraded" : statusOf(found);
    const body = {
      status,
      version: VERSION,
      store: store.kind,
      region: resolveRegion(c.req.raw),
      ...(found && { [settings.redis ? "redis" : "counts"]: found }),
      origin: settings.origin.kind,
      notes: [
        ...notes,
        ...keySecretNotes(settings, c.req.url),
        ...(limiter.live?.view()?.hasOtherSecret ? [OTHER_SECRET] : []),
        ...(isForeign ? [foreignNote(live.owner)] : []),
      ],
    };
    return c.json(body, status === "unavailable" ? 503 : 200, { "Cache-Control": "no-store" });
  });
  serveIndex(app, reservedPaths(settings, stats));
  serveOnFirstUse(app, settings, { ...answering, store, places, stats, readExplanation: explain?.read });
  // Look for loops before counting: the client was counted when its request came first.
  serveRest(app, (request, background) => {
    const address = addressIn?.(request);
    return loops.refuse(request) ?? enter(new FetchPassage(toCounted(request), forward, { background, address }));
  });
  return { fetch: app.fetch, limiter };
}

/** With a place for the live document also where counts are in memory. */
function storeFor(settings: Settings): Store {
  const store = storeOf(settings);
  return store.live ? store : { ...store, live: memoryLive() };
}

/** Explanations are encrypted with a key derived from the key secret, and everybody knows that of the memory store. */
function explainOf({ keySecret }: Settings, store: Store, limiter: () => InsideLimiter): Explain {
  const fallback = store.kind === "memory" ? crypto.randomUUID() : store.keySecret;
  return createExplain({ keySecret, fallback, version: () => limiter().live?.view()?.version });
}

/** Notes about a valid configuration that may not be what the operator meant. */
function storeAndOriginNotes(settings: Settings): string[] {
  const { redis, counts, origin } = settings;
  return [
    ...(redis || counts
      ? []
      : ["neither Redis nor COUNTS is configured: each instance counts on its own (memory store)"]),
    ...(origin.kind === "demo" ? ["no origin is configured: the built-in demo answers"] : []),
    ...explainWarnings(settings),
  ];
}

/**
 * Without `KEY_SECRET` the id of an object is the secret. On Cloudflare only the account can know it; `wrangler dev`
 * makes it from the names in wrangler.toml. The Worker cannot ask where it runs: an address of this machine tells it.
 */
function keySecretNotes({ counts, keySecret }: Settings, url: string): string[] {
  if (!counts || keySecret !== undefined || !/^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/]/.test(url)) return [];
  return ["KEY_SECRET is not set: on this machine the hashes of client keys hide nothing"];
}

/**
 * The gateway of a configuration with mistakes. It serves nothing: to serve without limits by accident would be worse.
 * Clients see paths and codes; the values that were found appear only in the log.
 */
function misconfigured(mistakes: readonly Mistake[]): Gateway {
  console.error(JSON.stringify({ event: "misconfigured", mistakes: mistakes.map(describeMistake) }));
  // What was expected is left out too: "at most the policy's smallest limit, 100" contains a value.
  const shown = mistakes.map(({ path, code }) => ({ path, code }));
  const app = new Hono();
  serveIndex(app, { [HEALTH_PATH]: "Which mistakes the configuration has" });
  app.get(HEALTH_PATH, (c) => {
    return c.json({ status: "misconfigured", version: VERSION, mistakes: shown }, 503, { "Cache-Control": "no-store" });
  });
  const refuse = (request: Request, status: number) =>
    problemResponse(request, {
      type: ProblemType.misconfigured,
      title: "Misconfigured",
      status,
      detail:
        "This gateway's configuration has mistakes; it serves nothing until they are fixed. Its log says what was expected and what was found.",
      mistakes: shown,
    });
  // 404 would tell operators that these do not exist.
  app.use("*", async (c, next) => (isUnder(BUILT_PATHS, c.req.url) ? refuse(c.req.raw, 503) : await next()));
  serveRest(app, (request) => refuse(request, 500));
  return { fetch: app.fetch };
}

/** Requests without a route: a reserved path, in any spelling, gets 404; every other request goes to `serve`. */
function serveRest(
  app: Hono,
  serve: (request: Request, background?: Background) => Response | Promise<Response>,
): void {
  app.all("*", (c) => {
    const request = c.req.raw;
    if (!isReserved(request.url)) return serve(request, backgroundOf(c));
    const detail = `${NO_SUCH_PATH} /.headgate/ lists those that do.`;
    return problemResponse(request, { type: ProblemType.blank, title: "Not Found", status: 404, detail });
  });
}
