import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clientKey } from "../../../src/kernel/http/key.ts";
import { keyByHand } from "../../../src/kernel/limiter/key-by-hand.ts";
import { noteBodyTexts } from "../../../src/kernel/request/body-texts.ts";
import { noteClaims } from "../../../src/kernel/request/claims.ts";
import { ANONYMOUS, formOf, KEY_SOURCES } from "../../../src/kernel/request/sources.ts";
import { checkedPolicies } from "../../features/live/policies.ts";
import { draws } from "../../support/cases/draws.ts";

const ADDRESS = "192.0.2.1";

function keyOf(kinds: string[], headers: Record<string, string> = {}, url = "https://gate.example/", cf?: object) {
  const request = new Request(url, { headers });
  if (cf) Object.defineProperty(request, "cf", { value: cf });
  return clientKey(kinds, request, () => "eu");
}

const addressOf = (headers: Record<string, string>) => keyOf(["ip"], headers).values[0];

describe("the address", () => {
  it.each([
    ["192.0.2.1", "192.0.2.1"],
    [" 192.0.2.1 ", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::FFFF:c000:0201", "192.0.2.1"],
    ["2001:0DB8:0001:0002:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"],
    ["0:0:0:1:0:0:0:1", "0:0:0:1::/64"],
    ["::ffff:0:192.0.2.1", "192.0.2.1"],
    ["64:ff9b::192.0.2.1", "192.0.2.1"],
    ["64:ff9b:1::192.0.2.1", "64:ff9b:1::/64"],
    ["::192.0.2.1", "192.0.2.1"],
    ["::c000:201", "192.0.2.1"],
    ["2001:0:4136:e378:8000:63bf:3fff:fdfe", "192.0.2.1"],
    ["2001::3fff:fdfe", "192.0.2.1"],
    ["2001:1::3fff:fdfe", "2001:1::/64"],
    ["2002:c000:201::1", "2002:c000:201::/48"],
  ])("%s is counted as %s", (address, counted) => {
    expect(addressOf({ "CF-Connecting-IP": address })).toBe(counted);
  });

  it.each<[address: string | undefined, v6: string, counted: string | undefined]>([
    // A pseudo address of IPv4 stands for the IPv6 address beside it.
    ["240.0.0.1", "2001:db8:1:2::1", "2001:db8:1:2::/64"],
    ["255.255.255.255", "2001:db8:1:2::1", "2001:db8:1:2::/64"],
    ["240.0.0.1", "nonsense", "240.0.0.1"],
    ["239.1.2.3", "2001:db8::1", "239.1.2.3"],
    [undefined, "2001:db8::1", undefined],
  ])("%s beside the IPv6 address %s is counted as %s", (address, v6, counted) => {
    expect(addressOf({ ...(address && { "CF-Connecting-IP": address }), "CF-Connecting-IPv6": v6 })).toBe(counted);
  });

  it.each([
    ...["unknown", "192.0.2.1, 192.0.2.2", "192.0.2.256", "192.0.2", "3221225985", "0xc0.0.2.1", ""],
    ...["2001:db8::1::2", "[::1]", "::1%eth0"],
  ])("%j is not an address", (address) => {
    expect(addressOf({ "CF-Connecting-IP": address })).toBeUndefined();
  });

  it.each(["X-Forwarded-For", "True-Client-IP", "X-Real-IP", "Forwarded", "X-Client-IP", "CF-Pseudo-IPv4"])(
    "is never taken from a client's %s",
    (name) => {
      expect(addressOf({ [name]: "198.51.100.7" })).toBeUndefined();
      expect(addressOf({ "CF-Connecting-IP": ADDRESS, [name]: "198.51.100.7" })).toBe(ADDRESS);
    },
  );
});

describe("a key", () => {
  const url = "https://API.gate.example.:8080/path?user=7&user=8&empty=&enc=a%20b";
  const headers = {
    "CF-Connecting-IP": ADDRESS,
    Authorization: "bearer  t0ken ",
    "X-User": " alice ",
    Cookie: "a=1; sid=abc=def; sid=second; b",
  };
  const cf = { country: "DE", asn: 64496 };

  it.each([
    ["ip", [ADDRESS]],
    ["bearer", ["t0ken"]],
    ["header:x-user", ["alice"]],
    ["cookie:sid", ["abc=def"]],
    ["query:user", ["7"]],
    ["host", ["api.gate.example"]],
    ["header:x-user+ip", ["alice", ADDRESS]],
    ["country+asn+query:user", ["DE", "64496", "7"]],
  ])("%s reads %j", (kind, values) => {
    expect(keyOf([kind], headers, url, cf)).toEqual({ kind, values });
  });

  it.each([
    ...["bearer", "header:x-none", "header:x-empty", "cookie:SID", "cookie:b", "query:none", "query:empty"],
    ...["query:USER", "country", "asn", "header:x-user+bearer", "bearer+header:x-user"],
  ])("%s is absent: the address is counted", (kind) => {
    const { Authorization: _, ...rest } = headers;
    expect(keyOf([kind], { ...rest, "X-Empty": "  " }, url)).toEqual({ kind: "ip", values: [ADDRESS] });
  });

  it.each(["", "Bearer", "Bearer ", "Basic dXNlcg==", "Token x", "xBearer t"])(
    "bearer is absent in %j",
    (Authorization) => {
      expect(keyOf(["bearer"], { Authorization })).toEqual(ANONYMOUS);
    },
  );

  it("is the first of the list that is present", () => {
    expect(keyOf(["query:none", "header:x-user", "ip"], headers)).toEqual({ kind: "header:x-user", values: ["alice"] });
    expect(keyOf(["ip", "header:x-user"], headers)).toEqual({ kind: "ip", values: [ADDRESS] });
    expect(keyOf(["query:none+ip", "cookie:sid"], headers)).toEqual({ kind: "cookie:sid", values: ["abc=def"] });
  });

  it("of nobody is anonymous: nothing of the list present, and no address", () => {
    expect(keyOf(["bearer", "header:x-user"])).toEqual({ kind: "anonymous", values: [] });
    expect(keyOf(["ip"])).toEqual(ANONYMOUS);
    expect(keyOf(["bearer"], { "X-Forwarded-For": ADDRESS })).toEqual(ANONYMOUS);
  });
});

describe("a cookie", () => {
  /** The definition of a cookie: split the header at every semicolon. What has no value is none. */
  function cut(header: string, name: string): string | undefined {
    const found = header.split(";").find((pair) => pair.includes("=") && pair.split("=", 1)[0]!.trim() === name);
    return found?.slice(found.indexOf("=") + 1).trim();
  }

  it("is the first of its name, whatever stands around it", () => {
    const pairs = ["a=b", "a.b=c", "axb=d", "$a=1", "; a=x", ";a|b=y", "aa=z"];
    const part = fc.constantFrom(...[";", "=", " ", "\t", "a", "b"], ...pairs);
    const name = fc.constantFrom("a", "b", "a.b", "$a", "a|b", "aa");
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), name, (parts, one) => {
        const header = parts.join("");
        const value = cut(new Headers({ Cookie: header }).get("Cookie") ?? "", one);
        const expected = value ? { kind: `cookie:${one}`, values: [value] } : ANONYMOUS;
        expect(keyOf([`cookie:${one}`], { Cookie: header })).toEqual(expected);
      }),
      draws(3_000),
    );
  });
});

// Every key source works everywhere that key sources are used.

const request = new Request("https://gate.example/?name=q", {
  headers: { "CF-Connecting-IP": "192.0.2.1", Authorization: "Bearer t", name: "h", Cookie: "name=c" },
});
Object.defineProperty(request, "cf", { value: { country: "DE", asn: 64496 } });
noteClaims(request, { issuer: "https://id.example.com", values: new Map([["name", "ann"]]) });
noteBodyTexts(request, new Map([["name", "b"]]));

const written = (name: string) =>
  Object.keys(KEY_SOURCES).map((source) => (formOf(source).name ? `${source}:${name}` : source));

it.each(written("name"))(
  "the source %s may be a key, is read from a request, and names the same client by hand",
  (kind) => {
    const [policy] = checkedPolicies([{ name: "one", key: kind, limits: [{ limit: 1, window: "1s" }] }]);
    expect(policy!.key).toEqual([kind]);
    const key = clientKey([kind], request, () => "eu");
    expect(key).toMatchObject({ kind, values: [expect.stringMatching(/./)] });
    expect(keyByHand(policy!, { kind, key: key.values }, 64)).toEqual(key);
  },
);

it.each(["docs/errors.md", "src/kernel/config/policy-input.ts"])("%s names every source", (file) => {
  const text = readFileSync(new URL(`../../../${file}`, import.meta.url), "utf8");
  for (const form of written("<name>")) expect(text).toContain(`\`${form}\``);
});
