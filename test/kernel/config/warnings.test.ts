// What is allowed, with a warning: a policy whose keys the client chooses itself, and a node that is never asked.

import { expect, it } from "vitest";
import { parseSettings, warningsOf } from "../../../src/features/configuration.ts";
import type { LoosePolicy } from "../../../src/kernel/config/policy-checked.ts";
import { regionWarnings } from "../../../src/kernel/config/warnings.ts";
import { checkedPolicies } from "../../features/live/policies.ts";

const limits = [{ limit: 1, window: "1m" }];

const policiesOf = (policies: Omit<LoosePolicy, "limits">[]) =>
  checkedPolicies(policies.map((policy) => ({ ...policy, limits })));

function warningsIn(...policies: Omit<LoosePolicy, "limits">[]): string[] {
  return warningsOf(policiesOf(policies));
}

/** The names of the policies that have a warning. */
function warnedOf(...policies: Omit<LoosePolicy, "limits">[]): (string | undefined)[] {
  return warningsIn(...policies).map((warning) => /^policy (\S+) counts by/.exec(warning)?.[1]);
}

const chosen: Omit<LoosePolicy, "limits"> = { name: "chosen", key: ["bearer", "ip"], match: { path: "/v1/*" } };

it.each(["bearer", "header:x-user", "cookie:sid", "query:u", "ip+bearer", "body:email"])(
  "warns of a policy that a client can leave by changing its %s",
  (key) => {
    expect(warnedOf({ ...chosen, key: [key] })).toEqual(["chosen"]);
    expect(warnedOf({ ...chosen, key: [key, "ip"] })).toEqual(["chosen"]);
  },
);

it.each([["ip"], ["ip", "bearer"], ["ip/48", "bearer"], ["global"], ["country", "asn"]])(
  "does not of one by %s",
  (...key) => {
    expect(warnedOf({ name: "fixed", key })).toEqual([]);
  },
);

it("warns of a list with two kinds that clients choose, also beside a policy by address", () => {
  const warned = (...key: string[]) =>
    warningsIn({ name: "two", key }, { name: "guard" }).map(
      (text) => /^policy two has (.+) in one key/.exec(text)?.[1],
    );
  expect(warned("bearer", "header:x-api-key")).toEqual(["bearer and header:x-api-key"]);
  expect(warned("jwt:sub", "cookie:sid+country", "query:u", "ip")).toEqual(["cookie:sid+country and query:u"]);
  for (const key of [["bearer", "ip"], ["jwt:sub", "bearer"], ["ip", "bearer", "query:u"], ["bearer+query:u"]])
    expect(warned(...key)).toEqual([]);
});

it("warns of a ban by a key that others can send too", () => {
  const ban = { after: 5, within: "10m", for: "1h" } as const;
  const warned = (...key: string[]) => warningsIn({ name: "p", key, ban }).filter((text) => text.includes("bans by"));
  expect(warned("header:x-user", "ip")).toEqual([
    "policy p bans by header:x-user, which others can send too: a client could be banned on purpose. Count by ip or by a claim (jwt:<name>)",
  ]);
  expect([warned("bearer"), warned("global"), warned("ip", "country")].map(({ length }) => length)).toEqual([1, 1, 1]);
  expect(
    [warned("ip"), warned("jwt:sub"), warned("jwt:sub", "ip"), warned("ip+bearer"), warned("ip/64")].flat(),
  ).toEqual([]);
});

it("warns of a policy whose id is part of its key: all requests of a client would be one", () => {
  const warned = (once: LoosePolicy["once"]) =>
    warningsIn({ name: "p", key: ["ip+header:x-user"], once, repeats: 3 }).filter((text) => text.includes("once ="));
  expect(warned("header:X-User")).toEqual([
    'policy p has once = "header:X-User", which is part of its key: all requests of a client have the same id, and 3 of 4 are not counted',
  ]);
  expect([warned("header:idempotency-key"), warned("bearer")]).toEqual([[], []]);
});

it("warns of a policy under shared that matches a path of few attempts", () => {
  const warned = (path: string) =>
    warningsIn({ name: "p", key: ["ip"], consistency: "shared", match: { path: ["/x", path] } });
  expect(warned("/account/log-in")).toEqual([expect.stringContaining('p has consistency = "shared" and matches /acc')]);
  expect(warned("/pay/*")).toHaveLength(1);
  expect(warned("/assets/*")).toEqual([]);
  expect(warningsIn({ name: "p", key: ["ip"], match: { path: "/login" } })).toEqual([]);
});

const tools = { path: "/v1/*", tool: ["a", "B"] };
const bodies = { path: "/v1/*", body: { model: ["a", "b"], tier: "x" } };
const of = (body: object) => ({ match: { path: "/v1/*", body } });

// test/kernel/request/pattern.test.ts has which patterns match one path.
it.each<[what: string, guard: object, policy: object, warned: string[]]>([
  ["all of them", {}, {}, []],
  ["these paths in another spelling", { match: { path: "/%561//*" } }, {}, []],
  ["networks", { key: ["ip/56"] }, {}, []],
  ["networks of IPv4", { key: ["ip4/24"] }, {}, []],
  ["other paths", { match: { path: "/v2/*" } }, {}, ["chosen"]],
  ["fewer paths", { match: { path: "/v1" } }, {}, ["chosen"]],
  ["fewer methods", { match: { method: "GET" } }, {}, ["chosen"]],
  ["them in shadow", { mode: "shadow" }, {}, ["chosen"]],
  ["them by token first", { key: ["bearer", "ip"] }, {}, ["chosen", "guard"]],
  ["some tools only", { match: tools }, {}, ["chosen"]],
  ["other tools", { match: tools }, { match: { path: "/v1/*", tool: "c" } }, ["chosen"]],
  ["its tool", { match: tools }, { match: { path: "/v1/*", tool: "B" } }, []],
  ["all but one tool", { except: { tool: "a" } }, {}, ["chosen"]],
  ["all but a tool that the policy leaves out", { except: { tool: "a" } }, { except: { tool: "a" } }, []],
  ["some bodies only", { match: bodies }, {}, ["chosen"]],
  ["some of its bodies", { match: bodies }, of({ model: "a" }), ["chosen"]],
  ["its bodies", { match: bodies }, of({ model: "a", tier: "x", more: "y" }), []],
  ["all but some bodies", { except: { body: { model: "a" } } }, {}, ["chosen"]],
  ["fewer", { except: { path: "/v1/a" } }, {}, ["chosen"]],
  ["those that the policy counts", { except: { path: "/v1/a" } }, { except: { path: "/v1/*", host: "a" } }, ["chosen"]],
  ["those that the policy counts too", { except: { path: "/v1/a" } }, { except: { path: "/v1/a" } }, []],
  ["more", {}, { except: { path: "/v1/a" } }, []],
  ["paths that the policy does not match", { except: { path: ["/Health", "/v2/*"] } }, {}, []],
  ["a path like one that the policy matches", { except: { path: ["/health", "/V%31"] } }, {}, ["chosen"]],
  ["paths that both may match", { except: { path: "/*/a" } }, { match: { path: "/v1/:id" } }, ["chosen"]],
  ["other methods", { except: { method: "GET" } }, { match: { method: ["POST", "PUT"] } }, []],
  ["one of its methods", { except: { method: ["GET", "PUT"] } }, { match: { method: ["POST", "HEAD"] } }, ["chosen"]],
  ["another host", { except: { host: "b.example" } }, { match: { host: "a.example" } }, []],
  ["hosts that may be its own", { except: { host: "*.example" } }, { match: { host: "a.example" } }, ["chosen"]],
])("looks at what a policy by address guards: it counts %s", (_, guard, policy, warned) => {
  expect(warnedOf({ ...chosen, ...policy }, { name: "guard", key: ["ip"], ...guard })).toEqual(warned);
});

it("is not drawn by a verified claim, which guards as an address does; without a token the address counts", () => {
  const claim = { name: "claim", key: ["jwt:sub"] };
  expect(warningsIn(claim, chosen)).toEqual([]);
  expect(warningsIn({ ...claim, key: ["jwt:sub+jwt:org.id", "ip"] }, chosen)).toEqual([]);
  expect(warnedOf({ ...claim, key: ["jwt:sub", "bearer"] })).toEqual(["claim"]);
  expect(warnedOf({ ...claim, key: ["jwt:sub+header:x-device"] })).toEqual(["claim"]);
  for (const key of ["bearer", "global"]) {
    expect(warnedOf({ name: "guard", key: ["jwt:sub", key] }, chosen)).toContain("chosen");
  }
});

it("is drawn by a range of all addresses, and by no other range, also not that of a guard", () => {
  const guard = { name: "guard", exempt: ["10.0.0.0/8", "192.0.2.0/30"] };
  expect(warningsIn(chosen, guard)).toEqual([]);
  expect(warningsIn(chosen, { ...guard, exempt: ["10.0.0.0/8", "::/0"] })).toEqual([
    "policy guard exempts ::/0, which is every address of its kind: it limits none of these clients",
  ]);
});

it.each([
  [["/v1/*", "/v2/*"], ["/v2/*", "/v1/*"], []],
  [["/v1/a", "/v2/b"], ["/v2/:id", "/v1/*", "/v2/b"], []],
  [["/v1/*", "/v2/*"], ["/v1/*"], ["chosen"]],
])("with the paths %j is guarded only by one that has them all: %j", (path, guarded, warned) => {
  expect(warnedOf({ ...chosen, match: { path } }, { name: "guard", match: { path: guarded } })).toEqual(warned);
  const apart = guarded.map((path, i) => ({ name: `guard-${i}`, match: { path } }));
  expect(warnedOf({ ...chosen, match: { path } }, ...apart)).toEqual(["chosen"]);
});

const byToken = (i: number) => ({ name: `token-${i}`, key: ["bearer"], match: { path: `/v1/a${i}/:id` } });
const byAddress = (i: number) => ({ ...byToken(i), name: `address-${i}`, key: ["ip"] });
const many = Array.from({ length: 100 }, (_, i) => i);

it.each([
  ["by address only", many.map(byAddress), 0, 0],
  ["in pairs", many.flatMap((i) => [byToken(i), byAddress(i)]), 0, 6],
  ["without a guard", [...many.map(byToken), ...many.map((i) => byAddress(i + 100))], 100, 6],
])(
  "many policies %s are not looked at in every pair: the first request waits for it",
  (_, all, warnings, looksEach) => {
    let looks = 0;
    const counted = policiesOf(all).map(({ match, ...policy }) => ({
      ...policy,
      get match() {
        looks++;
        return match;
      },
    }));
    expect(warningsOf(counted)).toHaveLength(warnings);
    expect(looks).toBeLessThanOrEqual(looksEach * all.length);
  },
);

it("warns of a node whose region no request has", () => {
  const warned = (region: string, more: object = {}) => {
    const all = { name: "all", url: "https://all.example", token: "TOKEN" };
    const REDIS_NODES = [{ ...all, name: "one", region }, all];
    const given = { POLICIES: [{ name: "a", limits }], REDIS_NODES, TOKEN: "token", KEY_SECRET: "sixteen letters!" };
    const parsed = parseSettings({ ...given, ...more });
    if (parsed.mistakes) throw new Error(JSON.stringify(parsed.mistakes));
    return regionWarnings(parsed.value);
  };
  expect(warned("eu")).toEqual([expect.stringMatching(/^the node one is not used: no request has the region eu /)]);
  expect(warned("EU")).toEqual([]);
  expect(warned("eu", { REGIONS: { continent: { EU: "europe" } } })).toHaveLength(1);
  expect(warned("europe", { REGIONS: { continent: { EU: "europe" } } })).toEqual([]);
  // Another gateway may have that region.
  expect(warned("eu", { REGION: "na" })).toEqual([]);
});

const CHOSEN = /^policy planned reads plans from \S+, which a client can change at will/;
const OUTSIDE = /^policy planned reads plans from \S+, which is not part of its key/;

it.each<[plan: string | undefined, key: string[], guarded: boolean, warned: RegExp[]]>([
  // A policy by address does not guard itself; another one bounds what a client can take.
  ["bearer", ["ip"], false, [CHOSEN]],
  ["header:x-plan", ["ip"], true, [OUTSIDE]],
  ["cookie:plan", ["ip"], false, [CHOSEN]],
  ["query:plan", ["ip+query:plan"], true, []],
  // One token has both claims.
  ["jwt:plan", ["jwt:sub", "ip"], false, []],
  ["jwt:plan", ["ip+jwt:org.id"], false, []],
  ["jwt:plan", ["ip", "jwt:sub"], false, [OUTSIDE]],
  ["country", ["ip"], false, [OUTSIDE]],
  ["host", ["asn+host", "ip"], false, [OUTSIDE]],
  ["region", ["ip+region"], false, []],
  // Only a program names it.
  [undefined, ["ip"], false, []],
])("a plan by %s under the key %j, guarded by address: %s, is warned of: %j", (plan, key, guarded, warned) => {
  const planned = { name: "planned", key, plan, plans: { pro: { planned: 10 } } };
  const all = guarded ? [planned, { name: "guard", key: ["ip"] }] : [planned];
  expect(warningsIn(...all)).toEqual(warned.map((text) => expect.stringMatching(text)));
});
