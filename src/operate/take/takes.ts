/** `/.headgate/take` and `/settle`: takes of programs in other languages (docs/recipes/other-languages.md). */

import type { Context } from "hono";
import type { RateLimitHeaders } from "../../kernel/config/settings.ts";
import { isConcurrency } from "../../kernel/core/concurrency.ts";
import { type ByOutcome, byOutcome, type Decision } from "../../kernel/core/decision.ts";
import { Kind } from "../../kernel/core/layout.ts";
import { addRateLimitFields } from "../../kernel/http/headers.ts";
import { backgroundOf } from "../../kernel/http/passage.ts";
import { UNAVAILABLE } from "../../kernel/http/refusal.ts";
import { retryFields } from "../../kernel/http/sdk-errors.ts";
import type { InsideLimiter, PolicyTake } from "../../kernel/limiter/types.ts";
import { keepAlive } from "../../kernel/place/taker.ts";
import { isStoreError } from "../../kernel/store/failure.ts";
import { answer, badRequest, problem, unavailable } from "../admin/answers.ts";
import { readBody } from "../admin/calls.ts";
import type { Gate } from "../admin/gate.ts";
import { type AskedTakes, readSettlement, readTakes } from "./asked.ts";
import type { Reservations } from "./reservations.ts";

const MAX_BODY_BYTES = 65_536;

const STATUS: ByOutcome<number> = {
  admitted: () => 200,
  refused: () => 429,
  blocked: () => 403,
  unavailable: () => 503,
};

/** The fields that say when to try again. */
const WAIT: ByOutcome<Record<string, string>> = {
  admitted: () => ({}),
  refused: waitOf,
  blocked: waitOf,
  unavailable: () => waitOf(UNAVAILABLE),
};

function waitOf({ retryAfterMs }: { readonly retryAfterMs?: number | undefined }): Record<string, string> {
  return retryFields({ retryAfterMs, never: retryAfterMs === undefined });
}

interface TakesOptions {
  readonly gate: Gate;
  readonly limiter: InsideLimiter;
  readonly reservations: Reservations;
  readonly regionOf: (request: Request) => string;
  readonly rateLimitHeaders: RateLimitHeaders;
}

export function createTakes({ gate, limiter, reservations, regionOf, rateLimitHeaders }: TakesOptions) {
  /** Lets programs in that have the token, and reads their body. */
  function asked(handle: (c: Context, body: unknown) => Promise<Response>): (c: Context) => Promise<Response> {
    return async (c) => {
      const program = await gate(c.req.raw);
      if (program instanceof Response) return program;
      const body = await readBody(c, MAX_BODY_BYTES);
      return body instanceof Response ? body : await keepAlive(handle(c, body.value), backgroundOf(c));
    };
  }

  /** The name of a policy whose limits count requests in flight. */
  const slotted = (takes: readonly PolicyTake[]) =>
    takes.find(({ policy }) =>
      limiter.policies.some(({ name, limits }) => name === policy && limits.some(isConcurrency)),
    );

  /** What the limiter says. */
  async function decide({ takes, does, region }: AskedTakes, c: Context) {
    const options = { region: region ?? regionOf(c.req.raw), ...backgroundIn(c) };
    if (does !== "reserve") return { decision: await limiter[does](takes, options) };
    const { decision, stored, reserved } = await limiter.reserve(takes, options);
    if (stored.length === 0) return { decision };
    return { decision, more: { reservation: await reservations.seal(stored, Date.now()), reserved } };
  }

  return {
    take: asked(async (c, body) => {
      const wanted = readTakes(body);
      if ("wrong" in wanted) return unprocessable(wanted.wrong);
      const holder = slotted(wanted.takes);
      if (holder) {
        const detail = `The policy ${holder.policy} limits requests in flight. A take over HTTP cannot hold a slot: its request ends with the answer.`;
        return unprocessable(detail);
      }
      try {
        const { decision, more } = await decide(wanted, c);
        return decided(decision, rateLimitHeaders, more);
      } catch (error) {
        if (!isMisuse(error)) throw error;
        return unprocessable(`${error.message.replace(/^(take|reserve): /, "")}.`);
      }
    }),

    settle: asked(async (_, body) => {
      const wanted = readSettlement(body);
      if ("wrong" in wanted) return unprocessable(wanted.wrong);
      const { reservation, used } = wanted;
      const sealed = await reservations.open(reservation, Date.now());
      if ("wrong" in sealed) return badRequest(WRONG[sealed.wrong]);
      const names = sealed.charges.map(({ policy }) => policy);
      const unknown = Object.keys(used).find((name) => !names.includes(name));
      if (unknown !== undefined) {
        return unprocessable(`used.${unknown}: this reservation has only ${[...new Set(names)].join(", ")}.`);
      }
      try {
        const settled = await reservations.settle(sealed, used);
        limiter.returned(sealed.charges.map(({ receipt }) => receipt.key));
        return answer({ settled });
      } catch (error) {
        if (!isStoreError(error)) throw error;
        return unavailable("The store does not answer. Settle again: it is done once, however often it is asked for.");
      }
    }),
  };
}

const WRONG = {
  old: "This reservation is older than 10 minutes. What it has reserved stays counted.",
  foreign:
    "This is no reservation of this gateway: it was changed or cut off, or made under another key secret or namespace.",
};

/** The limiter says so of what a caller names: a policy, a kind, a key, a region. */
function isMisuse(error: unknown): error is TypeError {
  return error instanceof TypeError && /^(take|reserve|region): /.test(error.message);
}

function unprocessable(detail: string): Response {
  return problem({ title: "Unprocessable Content", status: 422, detail });
}

function backgroundIn(c: Context) {
  const background = backgroundOf(c);
  return background ? { background } : {};
}

/**
 * The decision as JSON, with the fields of every answer of the gateway: they show no ban, and nothing that was decided
 * without the store.
 */
function decided(decision: Decision, mode: RateLimitHeaders, more: object = {}): Response {
  const { allowed, outcome, source, remaining, retryAfterMs, resetAfterMs, delayMs } = decision;
  const limits = decision.limits.map(({ limit, remaining, resetAfterMs, admitted }) => {
    return { id: limit.id, limit: limit.limit, remaining, resetAfterMs, admitted };
  });
  const body = { allowed, outcome, source, remaining, retryAfterMs, resetAfterMs, delayMs, limits, ...more };
  const headers = new Headers({ "Cache-Control": "no-store", ...byOutcome(decision, WAIT) });
  const shown = source === "fallback" ? [] : decision.limits.filter(({ limit }) => limit.kind !== Kind.ban);
  addRateLimitFields(headers, mode, shown, Date.now());
  return Response.json(body, { status: byOutcome(decision, STATUS), headers });
}
