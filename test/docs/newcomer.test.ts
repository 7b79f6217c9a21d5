// `npm run test:examples` follows these pages, which takes minutes. Whether it still can is seen here.

import { expect, it } from "vitest";
import { PATHS, stepsOf } from "../../scripts/check/test-newcomer.ts";

it.each(PATHS)("a newcomer can follow $page: $what", (path) => {
  const { commands, files } = stepsOf(path);
  expect(commands[0]).toMatch(/^npm init -y && npm install headgate\b/);
  expect(commands[1]).toMatch(/^(?:node|npx wrangler dev) /);
  expect(files.length).toBeGreaterThan(0);
});
