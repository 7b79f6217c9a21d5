// What an attacker, or an operator who makes mistakes, might send, drawn by fast-check. Runs in Node and in workerd.

import fc from "fast-check";

/** Names that every JavaScript object has, and values that cannot be converted to text or number. */
const hostileName = fc.constantFrom("__proto__", "constructor", "toString", "valueOf", "toJSON", "hasOwnProperty");
const inconvertible = fc.constantFrom("1", '"x"', "null").map((value) => {
  return JSON.parse(`{"toString":${value},"valueOf":${value}}`) as unknown;
});

/** Any JSON value; rarely a harmless one. */
export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  inconvertible,
  hostileName,
  fc.tuple(hostileName, fc.jsonValue({ maxDepth: 1 })).map(([name, value]) => {
    return JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`) as unknown;
  }),
  fc.constantFrom(-1, 0, 1e9, 1e9 + 1, 2 ** 53, 1e308, 0.5, "", "-1", "1e9", "0x10", " 1", "1d", "999999999999d"),
);

/** A table whose fields have right values. A larger `wrongness` replaces a value by an arbitrary one more often. */
function table(right: Record<string, fc.Arbitrary<unknown>>, required: string[], wrongness: number) {
  const fields = Object.entries(right).map(([name, value]) => [name, orAnything(value, wrongness)] as const);
  return fc.record(Object.fromEntries(fields), { requiredKeys: required });
}

const orAnything = (right: fc.Arbitrary<unknown>, wrongness: number) =>
  fc.oneof({ weight: 100, arbitrary: right }, { weight: wrongness, arbitrary: anyJson });

const oneOrMore = (one: fc.Arbitrary<unknown>) => fc.oneof(one, fc.array(one, { minLength: 1, maxLength: 3 }));

const rightLimit = fc.constantFrom<object>(
  { limit: 2, window: "1s", buckets: 10, oldest: "whole" },
  { algorithm: "fixed-window", limit: "7", window: "1ms", scope: "region" },
  { algorithm: "sliding-log", limit: 10_000, window: "31d" },
  { algorithm: "token-bucket", limit: 1e9, window: "1ms", burst: 1 },
  { algorithm: "leaky-bucket", limit: 1, window: "1s", burst: 1e9, maxDelay: "0ms" },
  { algorithm: "concurrency", limit: 1e9, timeout: "31d" },
);

/** A limit that is right, or a limit with one arbitrary field. */
const limit = (wrongness: number) =>
  fc.oneof(
    { weight: 100, arbitrary: rightLimit },
    {
      weight: wrongness,
      arbitrary: fc
        .tuple(rightLimit, fc.constantFrom("algorithm", "limit", "window", "buckets", "burst", "timeout", "x"), anyJson)
        .map(([right, field, value]) => ({ ...right, [field]: value })),
    },
  );

function policy(wrongness: number) {
  const pattern = fc.constantFrom("/login", "/v1/*", "/users/:id", "/a/*.b", "/x/*/:y", "*", "/\u0000", "/é", "/😀");
  const broken = fc
    .array(fc.constantFrom("/", "*", ":a", "(", ")", "{", "}", "?", "\\", "%2f", "\ud800"), { maxLength: 8 })
    .map((parts) => parts.join(""));
  const range = fc.constantFrom("10.0.0.0/8", "192.0.2.1", "2001:db8::/32", "::ffff:10.0.0.0/104");
  const match = {
    method: oneOrMore(fc.constantFrom("GET", "post", "HEAD", "OPTIONS")),
    path: oneOrMore(fc.oneof({ weight: 100, arbitrary: pattern }, { weight: wrongness, arbitrary: broken })),
    host: oneOrMore(fc.constantFrom("gate.example", "*.example", ":a")),
  };
  const cost = table({ ...match, cost: fc.constantFrom(0, 1, "1") }, ["cost"], wrongness);
  const stated = table(
    { answer: fc.constant("X-Cost"), reserve: fc.constant(1), keep: fc.boolean() },
    ["answer"],
    wrongness,
  );
  const fields = {
    name: fc.stringMatching(/^[a-z][a-z0-9]{6,31}$/),
    match: table(match, [], wrongness),
    key: oneOrMore(
      fc.constantFrom("ip", "bearer", "jwt:sub", "header:x-user+ip", "cookie:sid", "query:u", "host", "global"),
    ),
    exempt: oneOrMore(range),
    cost: fc.oneof({ weight: 9, arbitrary: fc.array(cost, { maxLength: 3 }) }, { weight: 1, arbitrary: stated }),
    limits: fc.tuple(orAnything(limit(wrongness), wrongness)),
    consistency: fc.constantFrom("strict", "leased"),
    mode: fc.constantFrom("enforce", "shadow"),
    onStoreFailure: fc.constantFrom("local", "allow", "deny"),
    documented: fc.boolean(),
  };
  return table(fields, ["name", "limits"], wrongness);
}

/** Nobody answers at this address. Two equal issuers are a mistake. */
const issuer = fc
  .integer({ min: 1, max: 1e6 })
  .map((n) => ({ jwks: "http://127.0.0.1:9/", issuer: `https://id-${n}.example`, audience: "api" }));

/** A variable as a value or as JSON text. A larger `wrongness` cuts the text off more often. */
const variable = (value: fc.Arbitrary<unknown>, wrongness: number) =>
  fc.oneof(
    { weight: 50, arbitrary: value },
    { weight: 50, arbitrary: value.map((one) => JSON.stringify(one)) },
    { weight: wrongness, arbitrary: value.map((one) => JSON.stringify(one).slice(0, -1)) },
  );

function bindingsOf(wrongness: number) {
  const policies = (minLength: number) => fc.array(policy(wrongness), { minLength, maxLength: 2 });
  const right = {
    POLICIES: variable(policies(1), wrongness),
    POLICIES_2: variable(policies(0), wrongness),
    REGION: fc.constantFrom("eu", ""),
    REGIONS: variable(fc.constant({ colo: { FRA: "frankfurt" }, country: { DE: "germany" } }), wrongness),
    KEY_SECRET: fc.constant("sixteen letters!"),
    IDENTITY: variable(oneOrMore(orAnything(issuer, wrongness)), wrongness),
    RATE_LIMIT_HEADERS: fc.constantFrom("both", "draft-11", "legacy", "none"),
    REDIS_TIMEOUT_MS: fc.constantFrom(1, "250"),
    ORIGIN_TIMEOUT_MS: fc.constantFrom(0, "10"),
    ORIGIN_URL: fc.constant(""),
  };
  return table(right, ["POLICIES", "IDENTITY"], wrongness);
}

/** Bindings: half of them nearly right, half mostly wrong. None names a Redis or an origin that exists. */
export const bindings: fc.Arbitrary<Record<string, unknown>> = fc.oneof(bindingsOf(1), bindingsOf(20));

const pathPart = fc.oneof(
  fc.constantFrom("/", "//", "..", ".", "%2e", "%2E%2e", "%2f", "%252f", "%", "%zz", "%00", "%0d%0a", ";", "@", ":"),
  fc.constantFrom("login", "LOGIN", ".headgate", "health", "{", "}", "|", "\\", "😀", "é", "%C3%28", "~", "\u0000"),
  // Not fc.string of any characters, which begins with a table of all of them: a second of computing.
  fc.array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength: 6 }).map((points) => String.fromCodePoint(...points)),
);

/** A path that begins with a slash, perhaps with a query. */
export const hostilePath: fc.Arbitrary<string> = fc
  .tuple(fc.array(pathPart, { maxLength: 10 }), fc.array(pathPart, { maxLength: 3 }), fc.boolean())
  .map(([path, query, asks]) => `/${path.join("")}${asks ? `?u=${query.join("")}` : ""}`);

const headerText = fc.oneof(
  fc
    .array(
      fc.integer({ min: 0x20, max: 0xff }).filter((code) => code !== 0x7f),
      { maxLength: 40 },
    )
    .map((codes) => String.fromCharCode(...codes)),
  fc.constantFrom(",", ",,", ";", "=", '"', "}", "{x}", "\t", "%00", "%0d%0aSet-Cookie: a=b", "Bearer ", "Bearer }{"),
  fc.constantFrom("text/html;q=", "text/html;q=1e999", "application/json;q=NaN", "*/*", "sid=;sid", "sid=}", "sid==="),
  fc.constantFrom("192.0.2.1, 192.0.2.2", "::", "fe80::1%25}", "1", "0x7f.1", "240.0.0.1", "POST", "POST,,GET", "null"),
  fc.integer({ min: 1, max: 64 }).map((kib) => "a,".repeat(kib * 512)),
);

const headerName = fc.constantFrom(
  ...[
    "Accept",
    "Origin",
    "Authorization",
    "Cookie",
    "X-User",
    "CF-Connecting-IP",
    "CF-Connecting-IPv6",
    "Content-Type",
  ],
  ...[
    "X-HTTP-Method-Override",
    "X-HTTP-Method",
    "X-Method-Override",
    "Access-Control-Request-Method",
    "X-RateLimit-Limit",
  ],
  ...["X-Forwarded-For", "Forwarded", "RateLimit", "Retry-After", "Accept-Encoding", "If-None-Match", "Range"],
);

/** Header fields that the code reads, with values that it does not expect: bytes 0x20 to 0xff, and tabs. */
export const hostileHeaders: fc.Arbitrary<Record<string, string>> = fc.dictionary(headerName, headerText, {
  maxKeys: 6,
});
