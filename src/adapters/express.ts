/** `headgate/express`: the limiter as a middleware of Express, of Connect and of plain `node:http`. */

import { countedTwice } from "../features/counted-twice/counted-twice.ts";
import { DEFAULTS } from "../features/default.ts";
import { inOrder } from "../features/order.ts";
import { type OwnRules, type RateLimitOptions, ruledBy } from "../features/rules/rules.ts";
import { slots } from "../features/slots/slots.ts";
import type { ClientIp } from "../kernel/config/client-ip.ts";
import type { Decision } from "../kernel/core/decision.ts";
import { asCounted } from "../kernel/http/as-counted.ts";
import { readersOf } from "../kernel/http/body.ts";
import { isShown, withEarlier } from "../kernel/http/earlier.ts";
import { createWay } from "../kernel/http/enforce.ts";
import type { Feature } from "../kernel/http/feature.ts";
import type { Limiter } from "../kernel/limiter/types.ts";
import type { RequestBody } from "../kernel/request/request-body.ts";
import {
  earlierFields,
  hasBody,
  keepUntilClosed,
  matchAsSent,
  NodePassage,
  type NodeRequest,
  type NodeResponse,
  setHeader,
  setTarget,
  writeAnswer,
} from "./node.ts";
import { checkedOptions, checkLimiter, isLimiter, noLimiter, OPTION_TYPES } from "./options.ts";

export type { ClientIp, Decision };

/**
 * Options of the middleware. The functions get Express's request. `cost`, `key`, `plan` and `limits` see its body only
 * if a middleware has read it before. The limiter has the region.
 */
export interface ExpressOptions<Req extends NodeRequest = NodeRequest> extends Omit<RateLimitOptions<Req>, "region"> {
  /**
   * The name of the request's property that holds the decision. Give middlewares on one request names of their own, and
   * handlers see each decision. Default `"rateLimit"`.
   */
  readonly property?: string;
  /**
   * Where the body is that a parser in front has made: `(request) => request.body` behind `express.json()`. Needed by
   * policies with `tool`, `rpc` or `body`. A body that no parser has read, or that is not an object or a list, cannot
   * be read: it may be any call.
   */
  readonly body?: (req: Req) => unknown;
}

/**
 * What Express calls for each request. With plain `node:http` call it yourself; `next` is then what answers, and it
 * also gets the errors that your functions throw.
 */
export type ExpressMiddleware<Req extends NodeRequest = NodeRequest> = (
  req: Req,
  res: NodeResponse,
  next: (error?: Error) => void,
) => void;

declare global {
  namespace Express {
    interface Request {
      /** The decision over this request; of several, the one with the fewest units left. Absent: no policy matches. */
      rateLimit?: Decision | undefined;
    }
  }
}

const { region: _, ...SHARED_TYPES } = OPTION_TYPES;
const TYPES = { ...SHARED_TYPES, property: "string", body: "function" };

/**
 * A middleware that counts a request before the handlers behind it, and answers 429 if a limit refuses it.
 *
 * Every answer gets the rate limit headers when its head is written, whoever writes it: `res.send`, `res.writeHead`, a
 * stream, an error handler. Several of these middlewares on one request all add to `RateLimit` and `RateLimit-Policy`;
 * the `X-RateLimit-` headers show the limit with the fewest units left. The middlewares count one after the other: for
 * all or nothing put both policies into one limiter.
 *
 * A refusal keeps the headers that earlier middleware has set, CORS for example, except those that describe a body or
 * let it be stored. `req.rateLimit`, or what `property` names, is the decision. Errors of the options and of the
 * configuration go to `next`.
 *
 * Policies match `req.originalUrl`, wherever the middleware is mounted. Express's own setting `trust proxy` changes
 * nothing: `clientIp` says whose address is counted. A slot of a `concurrency` limit is held until the answer has
 * ended. If the connection closes before the answer begins, the handler's work has the slot for up to 20 s more. Not
 * with a `meter`: the middleware does not see the bodies of answers.
 *
 * @param limiter a limiter made by `createLimiter`.
 * @throws {TypeError} for an unknown option, an option of a wrong type, a limiter with a `meter`, and one with `tool`,
 * `rpc` or `body` if the option `body` is missing.
 * @throws {ConfigurationError} for a wrong `clientIp`, and without one if a policy may count by address.
 */
export function rateLimit<Req extends NodeRequest = NodeRequest>(
  limiter: Limiter,
  options: ExpressOptions<Req> = {},
): ExpressMiddleware<Req> {
  if (!isLimiter(limiter)) throw noLimiter("rateLimit", limiter, "express-rate-limit");
  const metered = limiter.policies.find(({ meter }) => meter);
  if (metered) {
    throw new TypeError(
      `rateLimit: policy ${metered.name} has a meter, which has to read answers: expected a policy without one, because a middleware of Express does not see the bodies of answers. Use withRateLimit or headgate/hono`,
    );
  }
  const looking = limiter.policies.find((policy) => limiter.httpFeatures.some((one) => one.body?.looksAt(policy)));
  if (looking && !options.body) {
    throw new TypeError(
      `rateLimit: policy ${looking.name} reads the body of a request (tool, rpc or body): expected the option body, which says where express.json() has put it: rateLimit(limiter, { body: (request) => request.body })`,
    );
  }
  const { addressOf, ...answering } = checkedOptions("rateLimit", options, TYPES);
  const { property = "rateLimit" } = options;
  if (property === "") throw new TypeError("rateLimit: property: expected a non-empty string");
  checkLimiter("rateLimit", limiter, options);
  const addressIn: typeof addressOf = addressOf && ((head, platform) => addressOf(head, platform, limiter));
  const own = [parsedBody(bodyOf), slots(keepUntilClosed), ...ruledBy(rulesOf(options, property))];
  const way = createWay({
    ...answering,
    limiter,
    features: inOrder([...own, countedTwice, ...DEFAULTS, ...limiter.httpFeatures]),
    regionOf: () => limiter.region,
    matchBy: (match) => (head, address) => matchAsSent((one) => match(one, address), head),
  });
  const { headersOf, targetOf } = asCounted(limiter.policies, limiter.identify?.places);
  let isNoted = false;

  async function admit(req: Req, res: NodeResponse, next: () => void): Promise<void> {
    const passage = new NodePassage(req, res, next, addressIn);
    if (await options.skip?.(req)) {
      await way.send(passage);
      return;
    }
    for (const [name, value] of headersOf(passage.request.headers)) setHeader(req, name, value);
    if (req.url !== undefined) setTarget(req, targetOf(req.url));
    const answer = await way.enter(passage);
    // Nobody waits for an answer any more, or the handlers write it.
    if (!passage.isHandled && !passage.isGone()) await writeAnswer(res, answer);
  }

  /** What the handlers behind will get, as the parser in front has read it. */
  async function bodyOf(req: Req): Promise<RequestBody> {
    const body: unknown = await options.body?.(req);
    // Parsers make an empty object of no body, and of one that they do not read.
    const isEmpty = typeof body === "object" && body !== null && !Array.isArray(body) && Object.keys(body).length === 0;
    const isMissing = body === undefined || body === null || body === "" || isEmpty;
    if (isMissing && !hasBody(req)) return { length: 0, isClear: true };
    if (isMissing && !isNoted) {
      isNoted = true;
      const why = "a request with a body had none where the option body expects it: put express.json() in front";
      console.warn(JSON.stringify({ event: "note", note: `policies with tool, rpc or body cannot read it: ${why}` }));
    }
    if (isMissing || typeof body !== "object" || ArrayBuffer.isView(body)) return { length: 1, isClear: false };
    return { length: 1, json: body, isClear: true };
  }

  return (req, res, next) => {
    admit(req, res, next).catch(next);
  };
}

/** In place of the feature that reads bodies: a parser in front has read them. */
function parsedBody<Req extends NodeRequest>(bodyOf: (req: Req) => Promise<RequestBody>): Feature {
  return {
    name: "body",
    around(inner, options) {
      const readersFor = readersOf(options);
      return {
        async enter(passage) {
          const readers = readersFor(passage);
          if (readers.length > 0) {
            const body = await bodyOf((passage as NodePassage<Req>).req);
            for (const reader of readers) reader.read(passage, body);
          }
          return await inner.enter(passage);
        },
      };
    },
  };
}

/** What the program's own functions are about. */
interface Exchange<Req> {
  readonly req: Req;
  readonly res: NodeResponse;
}

function rulesOf<Req extends NodeRequest>(options: ExpressOptions<Req>, property: string): OwnRules<Exchange<Req>> {
  const { key, cost, plan, limits, response } = options;
  return {
    key: key && (({ req }) => key(req)),
    cost: typeof cost === "function" ? ({ req }) => cost(req) : cost,
    plan: plan && (({ req }) => plan(req)),
    limits: limits && (({ req }) => limits(req)),
    onDecision(decision, { req }) {
      const shown = req as unknown as Record<string, Decision | undefined>;
      if (isShown(decision, shown[property])) shown[property] = decision;
    },
    response: async (decision, { req, res }, standard) =>
      withEarlier(response ? await response(decision, req, standard) : standard, earlierFields(res)),
  };
}
