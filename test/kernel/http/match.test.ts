import { describe, expect, it } from "vitest";
import { apart, isPreflight } from "../../../src/features/preflight/preflight.ts";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { compileMatcher } from "../../../src/kernel/http/match.ts";
import { normalizePath } from "../../../src/kernel/request/text.ts";
import { checkedPolicies } from "../../features/live/policies.ts";

/** The policies that apply to a request, with their costs: `{ login: 1 }`. */
function matcherOf(policies: Record<string, Pick<PolicyInput, "match" | "except" | "exempt" | "cost">>) {
  const limits = [{ limit: 1000, window: "1m" }];
  const all = Object.entries(policies).map(([name, policy]) => ({ name, ...policy, limits }));
  const match = compileMatcher(checkedPolicies(all));
  return (url: string, init: RequestInit = {}) => {
    const request = new Request(url.startsWith("/") ? `https://gate.example${url}` : url, init);
    const matched = isPreflight(request) ? apart(match(request)) : match(request);
    return Object.fromEntries(
      matched.map(({ policy, cost, isPreflight }) => [policy.name, isPreflight ? `${cost} apart` : cost]),
    );
  };
}

describe("a path", () => {
  it.each<[path: string, found: object]>([
    // normalizePath, below, has the other spellings.
    ...["/login", "/LogIn", "///login//", "/x/./.././login", "/x/%2E%2e/login", "/%4cOGIN/?x=1", "/login#fragment"].map(
      (path): [string, object] => [path, { login: 1 }],
    ),
    // Decoded twice, an encoded slash, a path parameter, an encoded question mark.
    ...["/%256cogin", "/x%2Flogin", "/login%2F", "/login;v=1", "/login%3Fx", "/loginx", "/", "/v10", "/v2/v1"].map(
      (path): [string, object] => [path, {}],
    ),
    ...["/v1", "/V1/", "//v1//users", "/v1/a%2Fb"].map((path): [string, object] => [path, { v1: 1 }]),
    ["/docs", { docs: 1 }],
    ["/docs/", { docs: 1 }],
    ["/docs/x", {}],
  ])("%s counts against %j", (path, found) => {
    const match = matcherOf({
      ...{ login: { match: { path: "/login" } }, v1: { match: { path: "/v1/*" } } },
      docs: { match: { path: "/docs/" } },
    });
    expect(match(path)).toEqual(found);
  });

  // The pchar characters of RFC 3986 and the characters that URL does not encode, without the separators "/" and ";".
  const characters = [..."ab09-._~!$&'()*+,=:@[]^|"];
  const encoded = (character: string) => `%${character.charCodeAt(0).toString(16)}`;
  const written = (character: string) => (/[*+?:(){}\\]/.test(character) ? `\\${character}` : character);

  it.each(characters)("%s is the same when it is encoded, in a request and in a pattern", (character) => {
    const spellings = [character, encoded(character), encoded(character).toUpperCase()].map((one) => `/x${one}y`);
    for (const pattern of [`/x${written(character)}y`, ...spellings.slice(1)]) {
      const match = matcherOf({ it: { match: { path: pattern } } });
      expect(spellings.map((path) => ({ pattern, path, ...match(path) }))).toEqual(
        spellings.map((path) => ({ pattern, path, it: 1 })),
      );
    }
  });

  it.each([...'/;%?# <>`{}"'])("%s is no character that a path may hold: it stays encoded", (character) => {
    const code = encoded(character);
    expect(normalizePath(`/x${code}y`)).toBe(`/x${code}y`);
  });

  it.each([
    ["/", "/"],
    ["/a//b/", "/a/b"],
    ["/%7Euser/%5f%2D%2e", "/~user/_-."],
    ["/a%20b%2Fc%3B;d", "/a%20b%2Fc%3B;d"],
    ["/100%", "/100%"],
  ])("of %s has the normal form %s", (path, normal) => {
    expect(normalizePath(path)).toBe(normal);
  });
});

describe("a pattern is brought into the form of requests:", () => {
  it.each([
    ["/a//b", "/a/b"],
    ["/%41", "/a"],
    ["/a%2f%3B", "/a%2F%3b"],
    ["/a b", "/a%20b"],
    ["/%2A", "/*"],
    ["/caf\u00e9", "/CAF%C3%a9/"],
  ])("%s matches %s", (path, request) => {
    const match = matcherOf({ it: { match: { path } } });
    expect([match(request), match("/x")]).toEqual([{ it: 1 }, {}]);
  });

  it.each([
    ["example.com.", "Example.com.:8080"],
    ["*.Example.com..", "a.example.com"],
    ["[0:0::1]", "[::1]"],
    ["m\u00fcnchen.example", "xn--mnchen-3ya.example"],
    ["*.m\u00fcnchen.example", "a.m\u00fcnchen.example"],
    ["0x7f.1", "127.0.0.1"],
    [":tenant.EXAMPLE.com.", "a.example.com"],
    ["api*.example.com", "api13.example.com"],
  ])("host %s matches %s", (host, request) => {
    const match = matcherOf({ it: { match: { host } } });
    const others = ["other.example", "api.example.com.evil.example"];
    expect([request, ...others].map((one) => match(`https://${one}/`))).toEqual([{ it: 1 }, {}, {}]);
  });

  it("and a host of dots is read at once", () => {
    const dots = matcherOf({ other: { match: { host: "other.example" } } });
    expect(dots(`https://gate${".".repeat(163_840)}x/`)).toEqual({});
  });
});

describe("a method", () => {
  const match = matcherOf({
    get: { match: { method: "GET" } },
    post: { match: { method: "post" } },
    several: { match: { method: ["PUT", "DELETE"] } },
    head: { match: { method: "HEAD" } },
  });

  it("GET stands for HEAD, but not the other way round", () => {
    expect(match("/", { method: "GET" })).toEqual({ get: 1 });
    expect(match("/", { method: "HEAD" })).toEqual({ get: 1, head: 1 });
  });

  it("matches in any case of the configuration, and any of a list", () => {
    expect([match("/", { method: "POST" }), match("/", { method: "PATCH" })]).toEqual([{ post: 1 }, {}]);
  });

  it.each(["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"])(
    "in %s counts beside the request's own",
    (name) => {
      expect(match("/", { method: "GET", headers: { [name]: " post " } })).toEqual({ get: 1, post: 1 });
      expect(match("/", { method: "POST", headers: { [name]: "DELETE" } })).toEqual({ post: 1, several: 1 });
      expect(match("/", { method: "POST", headers: { [name]: "not a method" } })).toEqual({ post: 1 });
      expect(match("/", { method: "POST", headers: { [name]: "" } })).toEqual({ post: 1 });
      for (const list of ["POST, PUT", "PUT, POST"]) {
        expect(match("/", { headers: { [name]: list } })).toEqual({ get: 1, post: 1, several: 1 });
      }
    },
  );

  it("in such a field also chooses a cost, and makes a preflight count as a request", () => {
    const dear = matcherOf({ all: { cost: [{ method: "DELETE", cost: 5 }] } });
    expect(dear("/", { method: "POST", headers: { "X-HTTP-Method": "DELETE" } })).toEqual({ all: 5 });
    const any = matcherOf({ all: {} });
    const preflight = { Origin: "https://page.example", "Access-Control-Request-Method": "POST" };
    expect(any("/", { method: "OPTIONS", headers: preflight })).toEqual({ all: "1 apart" });
    expect(any("/", { method: "OPTIONS", headers: { ...preflight, "X-HTTP-Method": "DELETE" } })).toEqual({ all: 1 });
  });
});

describe("an upgrade to a WebSocket", () => {
  const match = matcherOf({ get: { match: { method: "GET" } }, post: { match: { method: "POST" } } });

  it.each(["websocket", "WebSocket", "h2c, websocket"])("%s by any method is a GET, too", (Upgrade) => {
    expect(match("/", { method: "POST", headers: { Upgrade } })).toEqual({ get: 1, post: 1 });
    expect(match("/", { method: "DELETE", headers: { Upgrade } })).toEqual({ get: 1 });
    expect(match("/", { headers: { Upgrade } })).toEqual({ get: 1 });
  });

  it("is no preflight, and another upgrade has its own method", () => {
    const headers = { Origin: "https://page.example", "Access-Control-Request-Method": "POST", Upgrade: "websocket" };
    expect(match("/", { method: "OPTIONS", headers })).toEqual({ get: 1 });
    expect(match("/", { method: "POST", headers: { Upgrade: "h2c" } })).toEqual({ post: 1 });
  });
});

describe("OPTIONS", () => {
  const match = matcherOf({ all: {}, options: { match: { method: ["OPTIONS", "GET"] } } });
  const preflight = { Origin: "https://page.example", "Access-Control-Request-Method": "POST" };

  it.each<[what: string, init: RequestInit, found: object]>([
    [
      "a preflight, apart, but not under a policy that names it",
      { headers: preflight },
      { all: "1 apart", options: 1 },
    ],
    ["one with a body", { headers: preflight, body: "x" }, { all: 1, options: 1 }],
    ["one without a method", { headers: { Origin: preflight.Origin } }, { all: 1, options: 1 }],
    ["one without an origin", { headers: { "Access-Control-Request-Method": "POST" } }, { all: 1, options: 1 }],
    ["a POST with its headers", { headers: preflight, method: "POST" }, { all: 1 }],
  ])("counts %s", (_, init, found) => {
    expect(match("/", { method: "OPTIONS", ...init })).toEqual(found);
  });
});

describe("conditions", () => {
  it("must all hold", () => {
    const match = matcherOf({ all: { match: { method: "POST", path: "/login", host: "a.example" } } });
    const found = ["https://a.example/login", "https://b.example/login", "https://a.example/x"].map((url) =>
      match(url, { method: "POST" }),
    );
    expect([...found, match("https://a.example/login")]).toEqual([{ all: 1 }, {}, {}, {}]);
  });

  it("that are left out match everything, and every policy that matches applies, in order", () => {
    const match = matcherOf({ z: {}, a: { match: { path: "/a" } }, m: { match: {} } });
    expect(Object.keys(match("/a"))).toEqual(["z", "a", "m"]);
    expect(Object.keys(match("/b"))).toEqual(["z", "m"]);
  });
});

describe("a cost", () => {
  it("is that of the first rule that matches, by method, path and host as policies match", () => {
    const match = matcherOf({
      api: {
        cost: [
          { method: "GET", path: "/search", cost: 100 },
          { path: "/search", cost: 5 },
          { host: "big.example", cost: 7 },
          { path: "/free/*", cost: 0 },
        ],
      },
    });
    expect(match("/SEARCH/", { method: "HEAD" })).toEqual({ api: 100 });
    expect(match("/search", { method: "POST" })).toEqual({ api: 5 });
    expect(match("https://big.example/free/x")).toEqual({ api: 7 });
    expect(match("/free")).toEqual({ api: 0 });
    expect(match("/else")).toEqual({ api: 1 });
  });
});

describe("what was asked before changes nothing:", () => {
  const hosts = { host: ["gate.example"] };
  it.each<[string, Parameters<typeof matcherOf>[0]]>([
    ["policies by path and host", { login: { match: { path: "/login" } }, all: { match: hosts } }],
    [
      "policies by method",
      { writes: { match: { method: ["POST", "DELETE"] } }, asks: { match: { method: "OPTIONS" } } },
    ],
    ["costs by method", { all: { cost: [{ method: "DELETE", cost: 5 }, { path: "/login", cost: 2 }, { cost: 1 }] } }],
  ])("%s", (_what, policies) => {
    const urls = ["/login", "/login?a", "/x?/login", "/x?a=%0APOST", "https://other.example/login", "/LOGIN//", "/x"];
    const preflight = { Origin: "https://page.example", "Access-Control-Request-Method": "DELETE" };
    const override = { "X-HTTP-Method": "DELETE, GET" };
    const all = [{}, { Origin: "https://page.example" }, preflight, override, { ...preflight, ...override }];
    const requests = urls.flatMap((url) =>
      ["GET", "POST", "OPTIONS"].flatMap((method) => all.map((headers) => [url, { method, headers }] as const)),
    );
    const used = matcherOf(policies);
    for (const [url, init] of requests) used(url, init);
    for (const [url, init] of requests.toReversed()) {
      expect({ url, init, matched: used(url, init) }).toEqual({ url, init, matched: matcherOf(policies)(url, init) });
    }
  });
});

describe("a policy with except", () => {
  const excepted = matcherOf({
    site: { except: { path: ["/health", "/public/*"] } },
    reads: { match: { path: "/v1/*" }, except: [{ method: "GET", path: "/v1/free" }, { host: "internal.example" }] },
  });

  it.each([
    ["/%68EALTH/?x=1", {}],
    ["/public/caf%C3%A9", {}],
    ["/healthy", { site: 1 }],
    ["/health/../login", { site: 1 }],
    ["/v1/paid", { site: 1, reads: 1 }],
    ["https://internal.example/v1/paid", { site: 1 }],
  ])("%s counts against %j", (url, found) => {
    expect(excepted(url)).toEqual(found);
  });

  it.each([
    ...["/public/..%2Flogin", "/public/..%5clogin", "/public/..;/login", "/public/..%252flogin", "/public/%00"],
    // What an origin may cut off, or leave out.
    ...["/public/x%3f", "/public/x%23", "/public/x%0a", "/public/x%0D", "/public/.%09./login", "/public/%1F"],
  ])("counts %s, which some origins read as another path", (path) => {
    expect(excepted(path)).toEqual({ site: 1 });
  });

  it.each<[string, string, object]>([
    ["HEAD", "", {}],
    ["POST", "", { reads: 1 }],
    ["POST", "GET", { reads: 1 }],
    ["GET", "POST", { reads: 1 }],
  ])("leaves out %s with the override %j only if every method is left out", (method, override, found) => {
    const headers = { "X-HTTP-Method-Override": override };
    expect(excepted("/v1/free", { method, headers })).toEqual({ site: 1, ...found });
  });
});

describe("a policy with exempt", () => {
  const match = matcherOf({ site: {}, api: { match: { path: "/v1/*" }, exempt: ["10.0.0.0/8", "2001:db8::/32"] } });
  const from = (address: string, url = "/v1/a") => match(url, { headers: { "CF-Connecting-IP": address } });

  // test/kernel/request/address-range.test.ts has which addresses are in a range.
  it("skips a client at one of its addresses, no other policy does, and no header of a client makes it", () => {
    // The same line again: what matches it is remembered.
    const addresses = ["10.1.2.3", "192.0.2.1", "10.1.2.3", "10.1.2.3, 192.0.2.1"];
    expect(addresses.map((address) => "api" in from(address))).toEqual([false, true, false, true]);
    expect(from("2001:db8:1::1")).toEqual({ site: 1 });
    const forged = { "X-Forwarded-For": "10.1.2.3", Forwarded: "for=10.1.2.3" };
    expect(match("/v1/a", { headers: forged })).toEqual({ site: 1, api: 1 });
  });

  it("reads the IPv6 address in place of a pseudo address of IPv4", () => {
    const headers = { "CF-Connecting-IP": "240.0.0.1", "CF-Connecting-IPv6": "2001:db8::1" };
    expect(match("/v1/a", { headers })).toEqual({ site: 1 });
  });
});
