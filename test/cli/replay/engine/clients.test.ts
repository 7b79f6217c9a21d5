// The names of clients, which are those of the gateway, and the numbers under which a replay counts them.

import { describe, expect, it } from "vitest";
import { Clients, clientText, textOf } from "../../../../src/cli/replay/engine/clients.ts";
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
  ])("write a client of the kind %s as the gateway does", (kind, values) => {
    expect(clientText({ kind, text: textOf(values) })).toBe(partitionText({ kind, values }));
  });
});

describe("numbers of clients", () => {
  it("count so many clients, and decide for others by numbers that are never used twice", () => {
    const clients = new Clients(2);
    expect(["a", "b", "a", "c", "d", "c"].map((text) => clients.numberOf("ip", text))).toEqual([0, 1, 0, 2, 3, 2]);
    expect([1, 2].map((client) => clients.isCounted(client))).toEqual([true, false]);
    expect(clients.overflowed).toBe(true);
    for (let i = 0; i < 10_000; i++) clients.numberOf("ip", `more ${i}`);
    clients.sweep((client) => client === 3);
    expect([clients.numberOf("ip", "d"), clients.numberOf("ip", "c")]).toEqual([3, 10_004]);
  });

  it("tell addresses apart by all four parts, and from texts that only look like one", () => {
    const clients = new Clients(100);
    const texts = ["0.0.0.0", "255.255.255.255", "192.0.2.1", "192.0.21", "192.0.2.01", "192.0.2.256", "192.0.2.1."];
    texts.push("1.92.0.2", "19.20.2.1", "192.0.2", ".0.2.1", "192..2.1", "192.0.2.1.5", "192.0.2.x", "128.0.0.0", "");
    expect(texts.map((text) => clients.numberOf("ip", text))).toEqual([...texts.keys()]);
    expect(texts.map((text) => clients.numberOf("ip", text))).toEqual([...texts.keys()]);
    const named = clients.clientsOf(new Set(texts.keys()));
    expect(texts.map((_, i) => named.get(i)!.text)).toEqual(texts);
  });
});
