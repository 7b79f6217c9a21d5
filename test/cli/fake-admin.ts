// A server with the bodies and answers of the admin API. It stands in for the gateway until the gateway has that API:
// then a real gateway takes its place in admin.test.ts.

import { createHash } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

export const TOKEN = "a-token-of-32-characters-at-least";

type Override = Readonly<Record<string, unknown>>;

interface Answer {
  readonly status: number;
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface FakeAdmin {
  readonly url: string;
  /** Method, path with its query, and body of every request. */
  readonly seen: { readonly request: string; readonly body: unknown }[];
  /** Answers the next request instead of the API. */
  next: Answer | undefined;
  /** What another admin does between a command's look at a client and its change. */
  meanwhile: (() => void) | undefined;
  /** The live document. A test may write to it as another admin would. */
  live: { version: number; policies: Record<string, object>; overrides: Override[] };
  stop(): Promise<void>;
}

const problem = (status: number, detail: string, more: object = {}): Answer => ({
  status,
  body: { type: "about:blank", title: "Refused", status, detail, ...more },
  headers: { "Content-Type": "application/problem+json" },
});

export async function startFakeAdmin(): Promise<FakeAdmin> {
  const hash = (key: string) => createHash("sha256").update(key).digest("hex").slice(0, 32);

  async function answer(request: IncomingMessage): Promise<Answer> {
    const { method = "", headers } = request;
    const body = method === "PUT" || method === "PATCH" ? await json(request) : undefined;
    fake.seen.push({ request: `${method} ${request.url}`, body });
    if (fake.next) {
      const { next } = fake;
      fake.next = undefined;
      return next;
    }
    if (headers.authorization !== `Bearer ${TOKEN}`) return problem(401, "Unauthorized.");
    const { pathname, searchParams } = new URL(request.url!, "http://fake");
    const [, , , table, policy = ""] = pathname.split("/");
    const key = hash(decodeURIComponent(String(headers["headgate-key"] ?? "")));
    const kind = searchParams.get("kind") ?? "ip";
    const isThis = (one: Override) => one.policy === policy && one.key === key && one.kind === kind;
    const override = fake.live.overrides.find(isThis) ?? null;
    if (policy !== "" && policy !== "api") return problem(404, `There is no policy ${policy}.`);

    switch (`${method} /${table}`) {
      case "GET /counts": {
        const limits = [{ id: "api-1", limit: 200, remaining: 193, resetAfterMs: 61_000 }];
        return { status: 200, body: { policy, kind, key, version: fake.live.version, override, limits } };
      }
      case "DELETE /counts":
        return { status: 200, body: { policy, kind, key } };
      case "GET /overrides":
        return { status: 200, body: { version: fake.live.version, overrides: fake.live.overrides } };
      case "PUT /overrides":
      case "DELETE /overrides": {
        fake.meanwhile?.();
        fake.meanwhile = undefined;
        if (headers["if-match"] !== `"${fake.live.version}"`) {
          const now = { version: fake.live.version, override: fake.live.overrides.find(isThis) ?? null };
          return problem(412, "Somebody else has changed the live document.", now);
        }
        const made = body === undefined ? null : { policy, kind, key, ...(body as object) };
        fake.live.overrides = [...fake.live.overrides.filter((one) => !isThis(one)), ...(made ? [made] : [])];
        fake.live.version++;
        return { status: 200, body: { version: fake.live.version, override: made } };
      }
      case "PATCH /policies":
        fake.live.policies[policy] = { ...fake.live.policies[policy], ...(body as object) };
        fake.live.version++;
        return { status: 200, body: { version: fake.live.version } };
      case "GET /policies":
        return { status: 200, body: { policies: [{ name: "api", mode: "enforce" }] } };
      case "GET /stats": {
        const point = {
          at: "2026-11-22T10:00:00.000Z",
          policy: "api",
          region: "eu",
          outcome: "refused",
          source: "cache",
        };
        const points = [
          { ...point, count: 41 },
          { ...point, region: "na", count: 1 },
        ];
        return { status: 200, body: { points, top: { api: [{ key, refused: 42 }] }, heard: point.at, step: 60 } };
      }
      case "GET /live":
        return { status: 200, body: fake.live, headers: { ETag: `"${fake.live.version}"` } };
      case "PUT /live": {
        if (headers["if-match"] === undefined) return problem(428, "If-Match is missing.");
        if (headers["if-match"] !== `"${fake.live.version}"`) return problem(412, "The document has another version.");
        fake.live = { ...(body as FakeAdmin["live"]), version: fake.live.version + 1 };
        return { status: 200, body: fake.live, headers: { ETag: `"${fake.live.version}"` } };
      }
      default:
        return problem(404, "Not Found.");
    }
  }

  const server = createServer(async (request, response) => {
    const { status, body, headers } = await answer(request);
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    response.end(typeof body === "object" ? JSON.stringify(body) : body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const fake: FakeAdmin = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: [],
    next: undefined,
    meanwhile: undefined,
    live: { version: 7, policies: {}, overrides: [] },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return fake;
}
