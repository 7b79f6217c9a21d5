/** `/.headgate/openapi.json`: the API for programs in other languages, for people and for generators of clients. */

import { MAX_UNITS } from "../../kernel/core/layout.ts";
import { VERSION } from "../../kernel/version.ts";
import { MAX_TAKES } from "./asked.ts";

const text = (description: string) => ({ type: "string", minLength: 1, description });
const units = (description: string) => ({ type: "integer", minimum: 0, maximum: MAX_UNITS, description });
const ms = (description: string) => ({ type: "integer", minimum: 0, description: `${description} In milliseconds.` });
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** An object that has no other members. */
function object(properties: Readonly<Record<string, object>>, required: readonly string[]) {
  return { type: "object", properties, required, additionalProperties: false };
}

/** An answer of ours, which later versions may add members to. */
function answered(properties: Readonly<Record<string, object>>, required: readonly string[]) {
  return { type: "object", properties, required };
}

const TAKE = {
  policy: text("The name of the policy."),
  key: {
    description: "The client that is counted. Of a combined kind: a list, a part each.",
    oneOf: [
      { type: "string", minLength: 1 },
      { type: "array", items: { type: "string", minLength: 1 }, minItems: 1 },
    ],
  },
  kind: text("What the key is, for example `ip`: requests of that kind count as the same client. Default: `key`."),
  cost: { ...units("Units; 0 counts nothing."), default: 1 },
  plan: text("The client's plan."),
  once: text("The id of this request: under a policy with `once` it is counted once."),
};
const CALL = {
  region: text("Where limits with `scope = region` count. Default: the region of this call."),
  peek: { type: "boolean", default: false, description: "Decide, and count nothing." },
  reserve: { type: "boolean", default: false, description: "Settle later what was used." },
};

const SCHEMAS = {
  Take: object(TAKE, ["policy"]),
  OneTake: object({ ...TAKE, ...CALL }, ["policy"]),
  SeveralTakes: object(
    {
      takes: {
        type: "array",
        items: ref("Take"),
        minItems: 1,
        maxItems: MAX_TAKES,
        description: "All of them are counted, or none is.",
      },
      ...CALL,
    },
    ["takes"],
  ),
  Limit: answered(
    {
      id: text("As in the header `RateLimit`; or `<policy>-ban`, if the client is banned."),
      limit: units("The number of the limit."),
      remaining: units("Units that are left."),
      resetAfterMs: ms("Until the limit is full again."),
      admitted: { type: "boolean", description: "Whether this limit alone would have admitted the take." },
    },
    ["id", "limit", "remaining", "resetAfterMs", "admitted"],
  ),
  Decision: answered(
    {
      allowed: { type: "boolean" },
      outcome: { type: "string", enum: ["admitted", "refused", "blocked", "unavailable"] },
      source: text("Who answered, for example `redis`; `fallback`: the store is down."),
      remaining: units("The fewest units left under any limit."),
      retryAfterMs: ms("Until this take is admitted if nothing else is counted. Absent: never, or not known."),
      resetAfterMs: ms("Until every limit is full again."),
      delayMs: ms("How long the admitted request must wait before it goes on (leaky bucket)."),
      limits: { type: "array", items: ref("Limit") },
      reservation: text("What `settle` needs. Absent: the store has reserved nothing."),
      reserved: {
        type: "object",
        additionalProperties: units("Units"),
        description: "What was reserved, by the names of policies.",
      },
    },
    ["allowed", "outcome", "source", "limits"],
  ),
  Settlement: object(
    {
      reservation: text("As the take has answered it, at most 10 minutes ago."),
      used: {
        description:
          "What was used, under each policy; or by the names of policies, of which one that is not named keeps all.",
        oneOf: [units("Units."), { type: "object", additionalProperties: units("Units.") }],
      },
    },
    ["reservation", "used"],
  ),
  Settled: answered(
    {
      settled: {
        type: "array",
        description: "The same for each repeated settlement, whatever it says.",
        items: answered(
          { policy: text("The name of the policy."), reserved: units("Reserved."), used: units("What stays counted.") },
          ["policy", "reserved", "used"],
        ),
      },
    },
    ["settled"],
  ),
  Problem: answered(
    {
      type: { type: "string" },
      title: { type: "string" },
      status: { type: "integer" },
      detail: { type: "string", description: "What is wrong, for people." },
    },
    ["title", "status", "detail"],
  ),
};

const json = (schema: object) => ({ "application/json": { schema } });
const PROBLEM = { "application/problem+json": { schema: ref("Problem") } };
const decision = (description: string) => ({ description, content: json(ref("Decision")) });
const problem = (description: string) => ({ description, content: PROBLEM });

const WRONG = {
  400: problem("The body is not JSON, or the reservation is too old or not ours."),
  401: problem("No token, or a wrong one."),
  413: problem("The body is too large."),
  422: problem("The body asks for something that does not exist. `detail` says what."),
};
const TOO_MANY = "More than five wrong tokens in a minute from one address";

export const OPENAPI = {
  openapi: "3.1.0",
  info: {
    title: "headgate",
    version: VERSION,
    description: "Takes from the limits of a gateway, for programs in any language.",
  },
  servers: [{ url: "/" }],
  security: [{ token: [] }],
  paths: {
    "/.headgate/take": {
      post: {
        operationId: "take",
        summary: "Counts a request under one policy or several, if all of them admit it",
        requestBody: { required: true, content: json({ oneOf: [ref("OneTake"), ref("SeveralTakes")] }) },
        responses: {
          200: decision("Admitted."),
          ...WRONG,
          403: decision("An operator has blocked the client."),
          429: {
            description: `Refused, and nothing was counted. ${TOO_MANY}: a problem.`,
            content: { ...json(ref("Decision")), ...PROBLEM },
          },
          503: decision("The store is down, and the policy says `deny`."),
        },
      },
    },
    "/.headgate/settle": {
      post: {
        operationId: "settle",
        summary: "Says what a reservation has used. It is done once, and may be repeated",
        requestBody: { required: true, content: json(ref("Settlement")) },
        responses: {
          200: { description: "Settled, now or before.", content: json(ref("Settled")) },
          ...WRONG,
          429: problem(`${TOO_MANY}.`),
          503: problem("The store does not answer. Settle again."),
        },
      },
    },
  },
  components: {
    securitySchemes: { token: { type: "http", scheme: "bearer", description: "The gateway's `TAKE_TOKEN`." } },
    schemas: SCHEMAS,
  },
};
