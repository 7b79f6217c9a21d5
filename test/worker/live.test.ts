// The live document in the object that counts, inside workerd.

import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import { Flag } from "../../src/kernel/core/take.ts";
import { ObjectLive } from "../../src/kernel/store/durable-object.ts";
import { durableObjectPlace, shardName } from "../../src/kernel/store/durable-object-place.ts";
import { durableObjectStore } from "../../src/stores/durable-object-store.ts";
import { describeLiveStorage } from "../support/cases/live-storage.ts";
import { COUNTS, newNamespace } from "./support.ts";

const objectOf = (namespace: typeof COUNTS, shard = 0) => COUNTS.get(namespace.idFromName(shardName(shard)));
const limit = { kind: Kind.fixedWindow, limit: 5, windowMs: 60_000 } as const;
const request = { keys: [{ key: "k", group: 0, cost: 1, limits: [limit] }], flag: Flag.take };

describeLiveStorage(() => durableObjectPlace(newNamespace(COUNTS)).live!);

describe("the object", () => {
  it("has one row, which a new start of the object reads", async () => {
    const namespace = newNamespace(COUNTS);
    const { live } = durableObjectPlace(namespace);
    await live!.write("one", 0);
    await live!.write("two", 1);
    await runInDurableObject(objectOf(namespace), (_, { storage }) => {
      expect(storage.sql.exec("SELECT * FROM live").toArray()).toEqual([{ id: 1, version: 2, text: "two" }]);
      const again = new ObjectLive(storage.sql);
      expect(again.read()).toEqual({ version: 2, text: "two" });
      expect([again.write("x", 1), again.write("three", 2)]).toEqual([undefined, 3]);
      expect(new ObjectLive(storage.sql).read()).toEqual({ version: 3, text: "three" });
    });
  });

  it("keeps a document for each namespace, and replies with the version of the key's own", async () => {
    const place = durableObjectPlace(newNamespace(COUNTS));
    await place.live!.write("one", 0, "staging");
    await place.take(request);
    const [key] = request.keys;
    await place.take({ ...request, keys: [{ ...key!, key: "hg:2:staging:{api:p}" }] });
    expect([place.live!.replied!()!.version, place.live!.replied!("staging")!.version]).toEqual([0, 1]);
    await expect(place.live!.write("x", 0, '"; DROP TABLE live; --')).rejects.toMatchObject({ code: "REJECTED" });
    await expect(place.live!.read(0, undefined, "a b")).rejects.toMatchObject({ code: "REJECTED" });
  });

  it.each(["'seven'", "0.5", "-1", "1e300", "x'00'"])(
    "reads a row of the version %s, and the next change repairs it",
    async (version) => {
      const namespace = newNamespace(COUNTS);
      await runInDurableObject(objectOf(namespace), (_, { storage: { sql } }) => {
        sql.exec(`INSERT INTO live (id, version, text) VALUES (1, ${version}, 'one')`);
      });
      const { live, take } = durableObjectPlace(namespace);
      expect(await live!.read()).toEqual({ version: 0, text: "one" });
      await take(request);
      expect(live!.replied!()!.version).toBe(0);
      expect(await live!.write("two", 0)).toBe(1);
      expect(await live!.read()).toEqual({ version: 1, text: "two" });
    },
  );

  it("keeps it when counts are reset and expired rows are removed", async () => {
    const namespace = newNamespace(COUNTS);
    const place = durableObjectPlace(namespace);
    await place.live!.write("one", 0);
    await place.take(request);
    await place.reset(["k", "live"]);
    await runInDurableObject(objectOf(namespace), (object) => object.alarm());
    expect(await place.live!.read()).toEqual({ version: 1, text: "one" });
  });

  it("refuses what is no text, or no version, and changes nothing", async () => {
    const object = objectOf(newNamespace(COUNTS));
    for (const args of [
      [5, 0],
      [undefined, 0],
      ["x", undefined],
      ["x", "0"],
      ["x", 0.5],
      ["x", Number.NaN],
    ]) {
      const answer = await object.writeLive(...(args as [string, number]));
      expect(answer).toEqual({ rejected: expect.stringMatching(/^writeLive: expected a string/) });
    }
    expect(await object.readLive()).toEqual({ version: 0, text: undefined });
  });
});

describe("a place", () => {
  it("tells the version with every reply, and says nothing of it in the reply itself", async () => {
    const place = durableObjectPlace(newNamespace(COUNTS));
    expect(place.live!.replied!()).toBeUndefined();
    const startMs = Date.now();
    const reply = await place.take(request);
    expect(Object.keys(reply).sort()).toEqual(["allowed", "charged", "keys", "nowMs"]);
    expect(place.live!.replied!()!.version).toBe(0);
    expect(place.live!.replied!()!.atMs).toBeGreaterThanOrEqual(startMs);
    await place.live!.write("one", 0);
    await place.take({ ...request, flag: Flag.look });
    expect(place.live!.replied!()!.version).toBe(1);
  });

  it("has a document only if it is the first of several", async () => {
    const namespace = newNamespace(COUNTS);
    expect([0, 1, 2].map((shard) => durableObjectPlace(namespace, undefined, shard).live !== undefined)).toEqual([
      true,
      false,
      false,
    ]);
    const store = durableObjectStore(namespace, { shards: 3, timeoutMs: 10_000 });
    await store.live!.write("one", 0);
    expect(await objectOf(namespace).readLive()).toMatchObject({ text: "one" });
    expect(await objectOf(namespace, 1).readLive()).toMatchObject({ version: 0 });
  });

  it("fails with a code, and without the object's own text", async () => {
    const broken = { idFromName: COUNTS.idFromName.bind(COUNTS), get: () => ({}) } as unknown as typeof COUNTS;
    const { live } = durableObjectPlace(broken);
    for (const call of [live!.read(), live!.write("raw-key", 0)]) {
      await expect(call).rejects.toMatchObject({ name: "StoreError", message: "store: NETWORK" });
    }
  });
});
