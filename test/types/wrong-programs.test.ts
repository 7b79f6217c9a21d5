// Each wrong program is answered twice: by the compiler, as an editor shows it, and by the run. Both name the field.

import { stripTypeScriptTypes } from "node:module";
import { describe, expect, it } from "vitest";
import { rateLimit } from "../../src/adapters/express.ts";
import { createLimiter, memoryStore, withRateLimit } from "../../src/index.ts";
import { messagesAbout } from "../support/compiler.ts";
import { WRONG_PROGRAMS } from "./wrong-programs.ts";

const PRELUDE = `import { createLimiter, memoryStore, withRateLimit } from "headgate";
import { rateLimit } from "headgate/express";
const store = memoryStore();
export { rateLimit, store, withRateLimit };
`;

/** The longest message: it can be read in an editor. */
const LONGEST = 900;

it("the compiler marks the field of each, in a message that can be read", async () => {
  const files = WRONG_PROGRAMS.map(({ program }, i) => [`program-${i}.ts`, PRELUDE + program] as const);
  const messages = await messagesAbout(Object.fromEntries(files), "node");
  const got = WRONG_PROGRAMS.map(({ what, editor }, i) => {
    const about = messages[`program-${i}.ts`] ?? [];
    return [what, about.some((one) => editor.test(one)) ? "" : about, about.filter((one) => one.length > LONGEST)];
  });
  expect(got).toEqual(WRONG_PROGRAMS.map(({ what }) => [what, "", []]));
});

const SCOPE = { createLimiter, memoryStore, rateLimit, withRateLimit };

describe("a run without the compiler", () => {
  it.each(WRONG_PROGRAMS)("names the field and the mending: $what", async ({ program, run }) => {
    const code = `return (async () => { const store = memoryStore();\n${stripTypeScriptTypes(program)}\n})();`;
    const start = new Function(...Object.keys(SCOPE), code) as (...scope: unknown[]) => Promise<void>;
    const error = await start(...Object.values(SCOPE)).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(Error);
    expect((error as Error).message).toMatch(run);
  });
});
