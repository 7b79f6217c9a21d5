// Runs the stories of test/vectors through core alone.

import { expect, it } from "vitest";
import { answerOf, expectedOf, requestOf, storiesOf, vectorFiles } from "../../../src/testing/vectors.ts";
import { Counter } from "../../support/gateway/counter.ts";

it.each(vectorFiles)("tells every story of %s as the vectors do", (file) => {
  const stories = storiesOf(file);
  const tellings = stories.map((story) => {
    const counter = new Counter();
    const answers = story.steps.map((step) => answerOf(step, story, counter.take(requestOf(step, story), step.atMs)));
    return { title: story.title, answers };
  });
  expect(tellings.length).toBeGreaterThanOrEqual(40);
  expect(tellings).toEqual(stories.map(({ title, steps }) => ({ title, answers: steps.map(expectedOf) })));
});
