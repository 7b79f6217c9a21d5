// Deployments over one store: a namespace is part of every key.

import { expect, it } from "vitest";
import { hashTagOf, namespaceOf } from "../../../src/kernel/core/layout.ts";
import { storeKey } from "../../../src/kernel/limiter/store-key.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { createLimiter } from "../../../src/limiter.ts";
import { splitStore } from "../../../src/stores/split-store.ts";

it("is part of the key before the hash tag, so a client keeps its place among several", () => {
  const key = storeKey("api", "p", "staging");
  expect([key, namespaceOf(key), hashTagOf(key)]).toEqual(["hg:2:staging:{api:p}", "staging", "api:p"]);
  expect([storeKey("api", "p"), namespaceOf(storeKey("api", "p")), namespaceOf("k")]).toEqual(["hg:2:{api:p}", "", ""]);
});

it.each(["a_b", "a:b", "{", "x".repeat(25), 5])("refuses the namespace %j", (namespace) => {
  const policies = [{ name: "api", limits: [{ limit: 2, window: "1h" }] }] as const;
  const make = () => createLimiter({ policies, store: memoryStore(), namespace: namespace as string });
  expect(make).toThrow(/namespace: expected at most 24 letters, digits and -/);
});

it("asks for the place of a key without what makes it a limit key, also of preflights", async () => {
  const asked: string[] = [];
  const placeOf = (key: string) => {
    asked.push(key);
    return 0;
  };
  const store = splitStore([memoryStore(), memoryStore()], placeOf);
  await store.reset(["hg:2:{api:p#preflight}", "hg:2:{api:p#preflight}#5:60000", "hg:2:{api:p}:eu#6:1000"]);
  expect(asked).toEqual(["hg:2:{api:p#preflight}", "hg:2:{api:p#preflight}", "hg:2:{api:p}:eu"]);
});
