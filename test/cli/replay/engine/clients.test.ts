// The names of clients, which are those of the gateway, and the numbers under which a replay counts them.

import { describe, expect, it } from "vitest";
import { Clients, textOf, valuesOf } from "../../../../src/cli/replay/engine/clients.ts";
import { textHasher } from "../../../../src/cli/replay/engine/hash.ts";
import { partitionHasher, partitionText } from "../../../../src/partition/hash.ts";
import { SECRET } from "./logs.ts";

describe("names of clients", () => {
  it.each([[SECRET], [undefined]])("hash a client as the gateway does, with the secret %j", async (secret) => {
    const hash = textHasher(secret, "a token");
    for (const values of [["192.0.2.1"], ["a", "bc"], ["\ud800"], ["é漢😀"]]) {
      const key = { kind: "header:x-user", values };
      expect(hash(partitionText(key))).toBe(await partitionHasher(secret, "a token")(key));
    }
  });

  it.each([
    ["ip", ["192.0.2.1"]],
    ["header:x-user+ip", ["ann", "192.0.2.1"]],
    ["anonymous", []],
  ])("keep all values of a client of the kind %s", (kind, values) => {
    expect(valuesOf({ kind, text: textOf(values) })).toEqual(values);
  });
});

describe("numbers of clients", () => {
  it("count so many clients, and decide for others by numbers that are never used twice", () => {
    const clients = new Clients(2);
    expect(["a", "b", "a", "c", "d", "c"].map((text) => clients.numberOf("ip", text))).toEqual([0, 1, 0, 2, 3, 2]);
    expect([1, 2].map((client) => clients.isCounted(client))).toEqual([true, false]);
    for (let i = 0; i < 10_000; i++) clients.numberOf("ip", `more ${i}`);
    clients.sweep((client) => client === 3);
    expect([clients.numberOf("ip", "d"), clients.numberOf("ip", "c")]).toEqual([3, 10_004]);
  });

  it("tell apart clients of one value and several kinds, and give each back", () => {
    const clients = new Clients(100);
    const all = ["ip", "header:x-user", "ip+asn"].flatMap((kind) => ["a", "b"].map((text) => ({ kind, text })));
    expect(all.map(({ kind, text }) => clients.numberOf(kind, text))).toEqual([...all.keys()]);
    expect([...clients.withNumbers(new Set(all.keys())).entries()]).toEqual([...all.entries()]);
    expect([...clients.withNumbers(new Set([3])).values()]).toEqual([all[3]]);
  });
});
