// What is counted is what the origin reads, however it reads what a client has sent more than once.

import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { rateLimit } from "../../../src/adapters/hono.ts";
import { asCounted } from "../../../src/kernel/http/as-counted.ts";
import { clientKey } from "../../../src/kernel/http/key.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { createLimiter, type OnDecision } from "../../../src/limiter.ts";
import { checkedPolicies } from "../../features/live/policies.ts";

const URL_OF = "https://gate.example/path";

const policiesBy = (key: string[]) => checkedPolicies([{ name: "one", key, limits: [{ limit: 1, window: "1s" }] }]);

function countedAndForwarded(key: string[], lines: [string, string][], query = "", cookie?: string) {
  const headers = new Headers([["CF-Connecting-IP", "192.0.2.1"]]);
  for (const [name, value] of lines) headers.append(name, value);
  const request = new Request(`${URL_OF}${query}`, { headers });
  const forwarded = asCounted(policiesBy(key), [cookie]).toCounted(request);
  return { counted: clientKey(key, forwarded, () => "eu"), forwarded, isSame: forwarded === request };
}

describe("a bearer ends where its characters end", () => {
  it.each(["Bearer tok", "bearer  tok", "Bearer\ttok", "Bearer tok 7", "Bearer tok;7", 'Bearer tok"', "Bearer tok%20"])(
    "%j is tok",
    (text) => {
      const { counted, isSame } = countedAndForwarded(["bearer"], [["Authorization", text]]);
      expect(counted).toEqual({ kind: "bearer", values: ["tok"] });
      expect(isSame).toBe(true);
    },
  );

  it("as a header it is Bearer tok", () => {
    const { counted } = countedAndForwarded(["header:authorization"], [["Authorization", "bearer  tok 7"]]);
    expect(counted.values).toEqual(["Bearer tok"]);
  });

  it.each(["aB3-._~+/==", "17|Xy9", "eyJhbGciOiJFUzI1NiJ9.e30.c2ln"])("%s is a token", (token) => {
    const { counted } = countedAndForwarded(["bearer"], [["Authorization", `Bearer ${token}`]]);
    expect(counted.values).toEqual([token]);
  });
});

describe("a cookie", () => {
  it.each([
    ["sid=ann"],
    ["sid=%61nn"],
    ['sid="ann"'],
    ['sid="\\141nn"'],
    ['a=1; sid = "a\\nn" ;b=2'],
    ["sid; sid=ann; sid"],
  ])("%j is ann, and the only one of its name", (text) => {
    const { counted, forwarded } = countedAndForwarded(["cookie:sid"], [["Cookie", text]]);
    expect(counted).toEqual({ kind: "cookie:sid", values: ["ann"] });
    const pairs = forwarded.headers.get("Cookie")!.split(";");
    const names = pairs.map((pair) => pair.split("=", 1)[0]!.trim());
    expect(names.filter((name) => name === "sid")).toHaveLength(1);
    for (const other of ["a", "b"]) expect(names.includes(other)).toBe(new RegExp(`\\b${other}=`).test(text));
  });

  it.each([
    ["a%", "a%"],
    ["%ff", "%ff"],
    ['"a', '"a'],
    ["s%3Aid.sig", "s:id.sig"],
    ["a=b", "a=b"],
  ])("that cannot be decoded, or needs it: %j counts as %j", (text, value) => {
    expect(countedAndForwarded(["cookie:sid"], [["Cookie", `sid=${text}`]]).counted.values).toEqual([value]);
  });

  it("with a token of an issuer is the only one, too", () => {
    const { forwarded } = countedAndForwarded(["jwt:sub"], [["Cookie", "id=a.b.c; id=d.e.f"]], "", "id");
    expect(forwarded.headers.get("Cookie")).toBe("id=a.b.c");
  });
});

describe("a query parameter", () => {
  it.each([
    ["?user=ann", "?user=ann"],
    ["?user=ann&user=bob&x=1", "?user=ann&x=1"],
    ["?x=%20+&user=ann&%75ser=bob&us%65r", "?x=%20+&user=ann"],
    ["?user=ann;user=bob", "?user=ann"],
    ["?user=ann&x=1;user=bob", "?user=ann&x=1"],
  ])("of %s is ann, and the origin gets %s", (query, sent) => {
    const { counted, forwarded, isSame } = countedAndForwarded(["query:user"], [], query);
    expect(counted).toEqual({ kind: "query:user", values: ["ann"] });
    expect(forwarded.url).toBe(`${URL_OF}${sent}`);
    expect(isSame).toBe(query === sent);
  });

  it.each(["?x=1&x=2", "?x=a;b&y", "?&&x", "?users=1&users=2"])(
    "without the name stays as it was sent: %s",
    (query) => {
      const { forwarded, isSame } = countedAndForwarded(["query:user"], [], query);
      expect([forwarded.url, isSame]).toEqual([`${URL_OF}${query}`, true]);
    },
  );

  it("behind a semicolon counts as absent, and goes nowhere", () => {
    const { counted, forwarded } = countedAndForwarded(["query:user"], [], "?x=1;user=ann");
    expect(counted.kind).toBe("ip");
    expect(forwarded.url).toBe(`${URL_OF}?x=1`);
  });
});

describe("a credential that was sent twice", () => {
  it.each([
    ["bearer", "Authorization", "Bearer a", "Bearer b"],
    ["bearer", "Authorization", "Basic YTpi", "Bearer b"],
    ["jwt:sub", "Authorization", "Bearer a", "Bearer b"],
    ["header:x-api-key", "X-Api-Key", "a", "b"],
    ["header:X-User+ip", "x-user", "a", ""],
  ])("counts as absent under %s, and goes nowhere", (kind, name, one, other) => {
    const twice = [one, other].map((value): [string, string] => [name, value]);
    const { counted, forwarded } = countedAndForwarded([kind], twice);
    expect(counted).toEqual({ kind: "ip", values: ["192.0.2.1"] });
    expect(forwarded.headers.has(name)).toBe(false);
  });

  it("stays where no key reads it, and where its scheme has parameters with commas", () => {
    const digest = 'Digest username="a", realm="b"';
    expect(countedAndForwarded(["ip"], [["Authorization", "Bearer a, Bearer b"]]).isSame).toBe(true);
    const { counted, forwarded } = countedAndForwarded(["bearer"], [["Authorization", digest]]);
    expect([counted.kind, forwarded.headers.get("Authorization")]).toEqual(["ip", digest]);
  });

  it("is none if the field is a list, or text for people: it counts as it is joined", () => {
    const agent = "Mozilla/5.0 (KHTML, like Gecko)";
    expect(countedAndForwarded(["header:user-agent"], [["User-Agent", agent]]).counted.values).toEqual([agent]);
  });
});

it("a changed request keeps its method, its body, its signal and its other fields", async () => {
  const left = new AbortController();
  const init = { method: "PUT", body: "hello", headers: { "X-Other": "1" }, signal: left.signal };
  const request = new Request(`${URL_OF}?user=a&user=b`, init);
  const forwarded = asCounted(policiesBy(["query:user"])).toCounted(request);
  left.abort();
  expect([forwarded.method, await forwarded.text(), forwarded.signal.aborted]).toEqual(["PUT", "hello", true]);
  expect(forwarded.headers.get("X-Other")).toBe("1");
});

// test/adapters/promises.ts has what the handler of every way in gets.
const policies = [{ name: "one", key: "cookie:sid+ip", limits: [{ limit: 9, window: "1h" }] }] as const;

it("behind headgate/hono a handler reads what was counted, also if a middleware in front has read the body", async () => {
  const limiter = createLimiter({ policies, store: memoryStore() });
  const app = new Hono()
    .use((c, next) => c.req.json().then(() => next()))
    .use(rateLimit(limiter, { clientIp: { header: "x-ip" } }))
    .post("/", async (c) => c.json([c.req.header("Cookie"), await c.req.json(), await c.req.raw.text()]));
  const headers = { Cookie: "sid=ann; sid=7", "X-Ip": "192.0.2.1" };
  const answer = await app.request("/", { method: "POST", body: "[1]", headers });
  expect(await answer.json()).toEqual(["sid=ann", [1], "[1]"]);
});

it("behind headgate/hono the client is that of the request that came, where the server knows only this", async () => {
  const kinds: string[] = [];
  const onDecision: OnDecision = (_, { takes }) => void kinds.push(takes[0]!.kind);
  const limiter = createLimiter({ policies, store: memoryStore(), onDecision });
  const request = new Request(URL_OF, { headers: { Cookie: "sid=ann; sid=7" } });
  const bun = { requestIP: (one: Request) => (one === request ? { address: "192.0.2.1" } : null) };
  const limited = rateLimit(limiter, { clientIp: "socket" });
  await new Hono().use(limited).use(limited).fetch(request, bun);
  expect(kinds).toEqual(["cookie:sid+ip", "cookie:sid+ip"]);
});
