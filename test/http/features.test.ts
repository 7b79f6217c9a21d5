// The features on the way of a request, and their order.

import { expect, it } from "vitest";
import { createWay } from "../../src/http/enforce.ts";
import type { Feature } from "../../src/http/feature.ts";
import { FEATURES } from "../../src/http/features/order.ts";
import { WITHOUT_BODIES } from "../../src/http/features/without-bodies.ts";
import { FetchPassage } from "../../src/http/passage.ts";
import { createLimiter } from "../../src/limiter.ts";
import { memoryStore } from "../../src/store/memory.ts";

const limiter = createLimiter({
  policies: [{ name: "all", key: "global", limits: [{ limit: 9, window: "1d" }] }],
  store: memoryStore(),
});
const answering = { limiter, rateLimitHeaders: "none", regionOf: () => "eu" } as const;

it("the features for handlers without bodies are in the same order", () => {
  expect(WITHOUT_BODIES).toEqual(FEATURES.filter((one) => (WITHOUT_BODIES as readonly Feature[]).includes(one)));
});

it("none is on the way of a policy that uses none", () => {
  expect(FEATURES.filter((one) => one.isUsed(limiter.policies, { ...answering, features: FEATURES }))).toEqual([]);
});

it("the first is the outermost, and one that is not used is not asked at all", async () => {
  const seen: string[] = [];
  const noting = (name: string, isUsed = true): Feature => ({
    isUsed: () => isUsed,
    around: (inner) => ({
      async pass(passage) {
        seen.push(`${name} begins`);
        const answer = await inner.pass(passage);
        seen.push(`${name} ends`);
        return answer;
      },
    }),
  });
  const features = [noting("outer"), noting("unused", false), noting("inner")];
  const { enter } = createWay({ ...answering, features });
  await enter(new FetchPassage(new Request("https://api.example/"), () => new Response()));
  expect(seen).toEqual(["outer begins", "inner begins", "inner ends", "outer ends"]);
});
