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

const login = matcherOf({ login: { match: { path: "/login" } } });
const versioned = matcherOf({ v1: { match: { path: "/v1/*" } } });

describe("a path", () => {
  // normalizePath, below, has the other spellings.
  it.each(["/login", "/LogIn", "///login//", "/x/./.././login", "/x/%2E%2e/login", "/%4cOGIN/?x=1", "/login#fragment"])(
    "%s counts against /login",
    (path) => {
      expect(login(path)).toEqual({ login: 1 });
    },
  );

  it.each([
    ["/%256cogin", "decoding happens once"],
    ["/x%2Flogin", "an encoded slash separates nothing"],
    ["/login%2F", "an encoded slash separates nothing"],
    ["/login;v=1", "a path parameter belongs to the path"],
    ["/login%3Fx", "an encoded question mark begins no query"],
    ["/loginx", "another path"],
    ["/", "another path"],
  ])("%s does not: %s", (path) => {
    expect(login(path)).toEqual({});
  });

  it.each(["/v1", "/v1/", "/V1/", "/v1/users", "/v1/users/7/", "//v1//users", "/v1/a%2Fb"])(
    "%s counts against /v1/*",
    (path) => {
      expect(versioned(path)).toEqual({ v1: 1 });
    },
  );

  it.each(["/v10", "/v2/v1", "/", "/v1x/"])("%s does not", (path) => {
    expect(versioned(path)).toEqual({});
  });

  it("matches a pattern that is written with a trailing slash, with or without it", () => {
    const match = matcherOf({ docs: { match: { path: "/docs/" } } });
    expect([match("/docs"), match("/docs/"), match("/docs/x")]).toEqual([{ docs: 1 }, { docs: 1 }, {}]);
  });
});

describe("a character that a path may hold as it is", () => {
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

  it.each([...'/;%?# <>`{}"'])("%s is none: it stays encoded", (character) => {
    const code = encoded(character);
    expect(normalizePath(`/x${code}y`)).toBe(`/x${code}y`);
  });

  it("is one of ASCII: others are always encoded, in a pattern too", () => {
    for (const path of ["/caf\u00e9", "/caf%c3%a9", "/caf%C3%A9"]) {
      const match = matcherOf({ it: { match: { path } } });
      const requests = ["/caf\u00e9", "/caf%c3%a9", "/CAF%C3%a9/"];
      expect(requests.map((one) => match(one))).toEqual(requests.map(() => ({ it: 1 })));
      expect(match("/cafe")).toEqual({});
    }
  });
});

describe("a pattern is brought into the form of requests:", () => {
  it.each([
    ["/a//b", "/a/b"],
    ["/%41", "/a"],
    ["/a%2f%3B", "/a%2F%3b"],
    ["/a b", "/a%20b"],
    ["/:x//b", "/a/b"],
    ["/LOGIN", "/login"],
    ["/%2A", "/*"],
  ])("%s matches %s", (path, request) => {
    const match = matcherOf({ it: { match: { path } } });
    expect([match(request), match("/x")]).toEqual([{ it: 1 }, {}]);
  });

  it.each([
    ["example.com.", "example.com"],
    ["EXAMPLE.com", "example.com"],
    ["*.Example.com..", "a.example.com"],
    ["[::1]", "[::1]"],
    ["[0:0::1]", "[::1]"],
    ["m\u00fcnchen.example", "xn--mnchen-3ya.example"],
    ["*.m\u00fcnchen.example", "a.m\u00fcnchen.example"],
    ["0x7f.1", "127.0.0.1"],
    [":tenant.EXAMPLE.com.", "a.example.com"],
    ["api*.example.com", "api13.example.com"],
  ])("host %s matches %s", (host, request) => {
    const match = matcherOf({ it: { match: { host } } });
    expect([match(`https://${request}/`), match("https://other.example/")]).toEqual([{ it: 1 }, {}]);
  });
});

describe("a long path", () => {
  const reviews = "/v1/*/items/*/reviews/*/votes";
  const near = (bytes: number) => `/v1${"/items/x/reviews/y".repeat(Math.ceil(bytes / 18)).slice(0, bytes)}`;

  // A matcher that tried every `*` at every place would take minutes.
  it("of 64 KiB is matched in full", () => {
    const match = matcherOf({ votes: { match: { path: reviews } } });
    expect([match(near(65_536)), match(`${near(65_536)}/z/votes`)]).toEqual([{}, { votes: 1 }]);
    const dots = matcherOf({ other: { match: { host: "other.example" } } });
    expect(dots(`https://gate${".".repeat(163_840)}x/`)).toEqual({});
  });
});

describe("normalizePath", () => {
  it.each([
    ["/", "/"],
    ["//", "/"],
    ["/a//b/", "/a/b"],
    ["/%7Euser/%5f%2D%2e", "/~user/_-."],
    ["/%41%7a%30", "/Az0"],
    ["/a%20b%2Fc%3B;d", "/a%20b%2Fc%3B;d"],
    ["/%2541", "/%2541"],
    ["/%C3%A9", "/%C3%A9"],
    ["/100%", "/100%"],
  ])("makes %s %s", (path, normal) => {
    expect(normalizePath(path)).toBe(normal);
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
    expect(match("/", { method: "POST" })).toEqual({ post: 1 });
    expect(match("/", { method: "DELETE" })).toEqual({ several: 1 });
    expect(match("/", { method: "PATCH" })).toEqual({});
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

  it("as a preflight counts apart, but not under a policy that names OPTIONS", () => {
    expect(match("/", { method: "OPTIONS", headers: preflight })).toEqual({ all: "1 apart", options: 1 });
  });

  it("with a body is no preflight", () => {
    expect(match("/", { method: "OPTIONS", headers: preflight, body: "x" })).toEqual({ all: 1, options: 1 });
  });

  it.each(["Origin", "Access-Control-Request-Method"])("without %s is a request like any other", (missing) => {
    const headers = Object.fromEntries(Object.entries(preflight).filter(([name]) => name !== missing));
    expect(match("/", { method: "OPTIONS", headers })).toEqual({ all: 1, options: 1 });
  });

  it("is what makes a preflight: the same header fields with another method count", () => {
    expect(match("/", { method: "GET", headers: preflight })).toEqual({ all: 1, options: 1 });
    expect(match("/", { method: "POST", headers: preflight })).toEqual({ all: 1 });
  });
});

it.each([
  ["https://API.Example.COM./", { api: 1, any: 1 }],
  ["http://api.example.com:8080/", { api: 1, any: 1 }],
  ["https://www.example.com/", { any: 1 }],
  ["https://example.com/", {}],
  ["https://api.example.com.evil.example/", {}],
])("the host of %s counts against %j", (url, found) => {
  const hosts = { api: { match: { host: "api.example.com" } }, any: { match: { host: "*.example.com" } } };
  expect(matcherOf(hosts)(url)).toEqual(found);
});

describe("conditions", () => {
  it("must all hold", () => {
    const match = matcherOf({ all: { match: { method: "POST", path: "/login", host: "a.example" } } });
    expect(match("https://a.example/login", { method: "POST" })).toEqual({ all: 1 });
    expect(match("https://a.example/login")).toEqual({});
    expect(match("https://b.example/login", { method: "POST" })).toEqual({});
    expect(match("https://a.example/x", { method: "POST" })).toEqual({});
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
    const overrides = [
      { "X-HTTP-Method-Override": "DELETE" },
      { "X-HTTP-Method": "DELETE, GET" },
      { "X-Method-Override": "PUT" },
    ];
    const requests = urls.flatMap((url) =>
      ["GET", "POST", "DELETE", "OPTIONS"].flatMap((method) =>
        [{}, { Origin: "https://page.example" }, preflight, ...overrides, { ...preflight, ...overrides[0] }].map(
          (headers) => [url, { method, headers }] as const,
        ),
      ),
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
    ["/health", {}],
    ["/HEALTH/", {}],
    ["/%68ealth?x=1", {}],
    ["/public", {}],
    ["/public/a.css", {}],
    ["/public/caf%C3%A9", {}],
    ["/healthy", { site: 1 }],
    ["/health/../login", { site: 1 }],
    ["/v1/free", { site: 1 }],
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

  it.each(["10.1.2.3", "::ffff:10.1.2.3", "2001:db8:1::1"])(
    "skips a client at %s, and no other policy does",
    (address) => {
      expect(from(address)).toEqual({ site: 1 });
      // The same line again: what matches it is remembered.
      expect(from("192.0.2.1")).toEqual({ site: 1, api: 1 });
      expect(from(address)).toEqual({ site: 1 });
    },
  );

  it("counts clients at other addresses, at none, and at what is no address", () => {
    for (const address of ["11.0.0.1", "2001:db9::1", "10.1.2.3, 192.0.2.1", "10.0.0"]) {
      expect(from(address)).toEqual({ site: 1, api: 1 });
    }
    expect(match("/v1/a")).toEqual({ site: 1, api: 1 });
    // Clients write these fields themselves.
    expect(match("/v1/a", { headers: { "X-Forwarded-For": "10.1.2.3", Forwarded: "for=10.1.2.3" } })).toHaveProperty(
      "api",
    );
  });

  it("reads the IPv6 address in place of a pseudo address of IPv4", () => {
    const headers = { "CF-Connecting-IP": "240.0.0.1", "CF-Connecting-IPv6": "2001:db8::1" };
    expect(match("/v1/a", { headers })).toEqual({ site: 1 });
  });
});
