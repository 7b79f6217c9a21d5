/** What newcomers write wrong, with what their editor says, and what the program says without one. */

interface WrongProgram {
  readonly what: string;
  /** Lines of a program. It has `store`, and the functions of the package. */
  readonly program: string;
  /** The word that the editor marks, and its message. */
  readonly editor: RegExp;
  /** The message of the error that is thrown. */
  readonly run: RegExp;
}

const policy = (fields: string, limit = `limit: 5, window: "1m"`) =>
  `createLimiter({ policies: [{ name: "api", limits: [{ ${limit} }], ${fields} }], store });`;
const limit = (fields: string) => policy("", fields);

/** Of whom one asks for something that another policy has. */
const TAKE = `const limiter = createLimiter({ policies: [{ name: "a", limits: [{ limit: 5, window: "1m" }] }], store });`;

export const WRONG_PROGRAMS: readonly WrongProgram[] = [
  {
    what: "a window without its unit",
    program: limit("limit: 5, window: 60"),
    editor: /^window: .*"window: a number with its unit, for example /,
    run: /limits\[0\]\.window: expected a number with its unit, "60s" or "60ms"; found 60 /,
  },
  {
    what: "a window as a sentence",
    program: limit(`limit: 5, window: "1 minute"`),
    editor: /^window: .*"window: a number with its unit, for example /,
    run: /limits\[0\]\.window: expected a duration from 1ms to 31d, for example "10s" or "1h"; found "1 minute" /,
  },
  {
    what: "a day without a calendar",
    program: limit(`limit: 5, window: "day"`),
    editor: /^window: .*"window: a number with its unit/,
    run: /limits\[0\]\.window: .* or algorithm = "calendar"; found "day" /,
  },
  {
    what: "a duration in a calendar",
    program: limit(`algorithm: "calendar", limit: 5, window: "1d"`),
    editor: /^window: .*"day" \| "month" \| "week" \| "year"/,
    run: /limits\[0\]\.window: expected "day" or "week" or "month" or "year".*; found "1d" /,
  },
  {
    what: "windowMs of other limiters in a limit",
    program: limit("limit: 5, windowMs: 60_000"),
    editor: /^(?:limit|windowMs): .*(?:needs its window|has no field windowMs: write window)/,
    run: /limits\[0\]\.windowMs: expected no windowMs: did you mean window\?; found 60000 /,
  },
  {
    what: "windowMs of other limiters in place of policies",
    program: "createLimiter({ windowMs: 60_000, limit: 5, store });",
    editor: /^windowMs: .*'windowMs' does not exist in type 'LimiterOptions/,
    run: /unknown option windowMs: did you mean window in policies\[0\]\.limits\[0\]\? For example policies: /,
  },
  {
    what: "the limit beside the policy's name",
    program: `createLimiter({ policies: [{ name: "api", limit: 5, window: "1m" }], store });`,
    editor: /^limit: .*Did you mean to write 'limits'\?/,
    run: /policies\[0\]\.limit: expected no limit: did you mean limits = \[\{ limit = 100, window = "1m" \}\]\?/,
  },
  {
    what: "a limit without a window",
    program: limit("limit: 5"),
    editor: /^limit: .*"a limit needs its window, for example window: /,
    run: /limits\[0\]\.window: expected a duration from 1ms to 31d, .*; found nothing /,
  },
  {
    what: "one limit in place of a list",
    program: `createLimiter({ policies: [{ name: "api", limits: { limit: 5, window: "1m" } }], store });`,
    editor: /^limit: .*'limit' does not exist in type 'readonly CheckedLimit/,
    run: /policies\[0\]\.limits: expected a list of 1 to 8 limits; found \{/,
  },
  {
    what: "one policy in place of a list",
    program: `createLimiter({ policies: { name: "api", limits: [{ limit: 5, window: "1m" }] }, store });`,
    editor: /^name: .*'name' does not exist in type 'readonly CheckedPolicy/,
    run: /policies: expected a list of at least one policy; found \{/,
  },
  {
    what: "a burst beside the default algorithm",
    program: limit(`limit: 5, window: "1m", burst: 9`),
    editor: /^burst: .*"burst belongs to the algorithm token-bucket"/,
    run: /limits\[0\]\.burst: expected no burst, which belongs to token-bucket, leaky-bucket; found 9 /,
  },
  {
    what: "an algorithm with a typing error",
    program: limit(`algorithm: "token-bukcet", limit: 5, window: "1m"`),
    editor: /^algorithm: .*Did you mean '"token-bucket"'\?/,
    run: /limits\[0\]\.algorithm: expected .*"token-bucket".*; found "token-bukcet" /,
  },
  {
    what: "a limit as text, in a variable",
    program: `const policies = [{ name: "api", limits: [{ limit: "none", window: "1m" }] }];\ncreateLimiter({ policies, store });`,
    editor: /^policies: .*(?:\n.*)*Type 'string' is not assignable to type 'number'/,
    run: /limits\[0\]\.limit: expected an integer from 1 to 1000000000; found "none" /,
  },
  {
    what: "a limit that JSON cannot show",
    program: limit(`limit: 5n, window: "1m"`),
    editor: /^limit: .*Type 'bigint' is not assignable to type 'number/,
    run: /limits\[0\]\.limit: expected an integer from 1 to 1000000000; found a value of type bigint /,
  },
  {
    what: "a secret in a policy",
    program: policy(`keySecret: "correct horse battery staple"`),
    editor: /^keySecret: .*"a policy has no field keySecret"/,
    run: /^(?!.*horse)[\s\S]*policies\[0\]\.keySecret: expected no keySecret: .*; found a value of type string /,
  },
  {
    what: "a name with a space",
    program: `createLimiter({ policies: [{ name: "My API", limits: [{ limit: 5, window: "1m" }] }], store });`,
    editor: /^name: .*"name: 1 to 32 of a-z, 0-9 and -, not beginning with -"/,
    run: /policies\[0\]\.name: expected 1 to 32 of a-z, 0-9 and -, not beginning with -; found "My API" /,
  },
  {
    what: "a policy without a name",
    program: `createLimiter({ policies: [{ limits: [{ limit: 5, window: "1m" }] }], store });`,
    editor: /Property 'name' is missing in type /,
    run: /policies\[0\]\.name: expected 1 to 32 of a-z, 0-9 and -, .*; found nothing /,
  },
  {
    what: "a key that is no source",
    program: policy(`key: "ipaddress"`),
    editor: /^key: .*'"ipaddress"' is not assignable to type '"key: ip, bearer, header:<name>, /,
    run: /policies\[0\]\.key: expected a list of ip, .*; found "ipaddress" /,
  },
  {
    what: "a function as key",
    program: policy("key: (request: Request) => request.url"),
    editor: /^key: .*"a function that names the client is the option key of withRateLimit and rateLimit"/,
    run: /policies\[0\]\.key: .*the option key of withRateLimit and rateLimit, .*; found a function /,
  },
  {
    what: "keyGenerator of other limiters",
    program: policy(`keyGenerator: "ip"`),
    editor: /^keyGenerator: .*"a policy has no field keyGenerator"/,
    run: /policies\[0\]\.keyGenerator: expected no keyGenerator: did you mean key\?; found a value of type string /,
  },
  {
    what: "paths in place of path",
    program: policy(`match: { paths: "/v1/*" }`),
    editor: /^paths: .*Did you mean to write 'path'\?/,
    run: /policies\[0\]\.match\.paths: expected no paths: did you mean path\?; found a value of type string /,
  },
  {
    what: "a condition that there is not, beside one that there is",
    program: policy(`match: { method: "GET", header: "x-user" }`),
    editor: /^header: .*"no field header here"/,
    run: /policies\[0\]\.match\.header: expected only the fields method, path, host; found a value of type string /,
  },
  {
    what: "a path in place of conditions",
    program: policy(`match: "/v1/*"`),
    editor: /^match: .*'MatchInput'/,
    run: /policies\[0\]\.match: expected a table with method, path or host; found "\/v1\/\*" /,
  },
  {
    what: "a mode that there is not",
    program: policy(`mode: "dry-run"`),
    editor: /^mode: .*"enforce" \| "shadow"/,
    run: /policies\[0\]\.mode: expected "enforce" or "shadow"; found "dry-run" /,
  },
  {
    what: "a cost for all requests",
    program: policy("cost: 5"),
    editor: /^cost: .*readonly CostRuleInput\[\]/,
    run: /policies\[0\]\.cost: expected a list of rules, for example \[\{ path = .*; found 5 /,
  },
  {
    what: "an option with a typing error",
    program: `createLimiter({ policies: [{ name: "api", limits: [{ limit: 5, window: "1m" }] }], stroe: store });`,
    editor: /^stroe: .*Did you mean to write 'store'\?/,
    run: /createLimiter: unknown option stroe: did you mean store\?/,
  },
  {
    what: "a take of a policy that there is not",
    program: `${TAKE}\nawait limiter.take("b", { key: "ann" });`,
    editor: /^"b": .*'"b"' is not assignable to parameter of type '"a" \|/,
    run: /take: no policy is named "b"; there are a/,
  },
  {
    what: "a take of several, of which there is not one",
    program: `${TAKE}\nawait limiter.take([{ policy: "b", key: "ann" }]);`,
    editor: /^policy: .*'"b"' is not assignable to type '"a"'/,
    run: /take: no policy is named "b"; there are a/,
  },
  {
    what: "options of express-rate-limit",
    program: "rateLimit({ windowMs: 60_000, limit: 5 });",
    editor: /^windowMs: .*'windowMs' does not exist in type 'Limiter/,
    run: /expected a limiter made by createLimiter\. docs\/migrate\/express-rate-limit\.md shows how/,
  },
];
