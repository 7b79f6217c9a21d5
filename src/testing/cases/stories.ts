/** Every story of the vectors, told by the store. */

import { expect } from "vitest";
import type { StoreCase } from "../store-case.ts";
import { answerOf, expectedOf, requestOf, storiesOf, vectorFiles } from "../vectors.ts";

export const stories: readonly StoreCase[] = vectorFiles.map((file) => ({
  title: `tells every story of the vectors of ${file} as they do`,
  async run({ newKey, take }) {
    const tellings = await Promise.all(
      storiesOf(file).map(async (story) => {
        const key = newKey();
        const steps = [];
        for (const step of story.steps) {
          const { keys, ...asked } = requestOf(step, story, key);
          const reply = await take(keys, { ...asked, nowMs: step.atMs });
          steps.push({ answer: answerOf(step, story, reply), step });
        }
        return { title: story.title, steps };
      }),
    );
    const expected = storiesOf(file).map(({ title, steps }) => {
      return { title, steps: steps.map((step) => ({ answer: expectedOf(step), step })) };
    });
    expect(tellings).toEqual(expected);
  },
}));
