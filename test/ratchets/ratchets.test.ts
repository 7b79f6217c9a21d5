// The figures of way.json and names.json only fall. `npm run ratchet` writes them when they have fallen.

import { expect, it } from "vitest";
import { featuresIn } from "./names.ts";
import { keptOf, problemsOf, RATCHETS } from "./ratchet.ts";

it.each(RATCHETS)("$name: what is measured is what is kept", ({ name, measure }) => {
  expect(problemsOf(keptOf(name), measure())).toEqual([]);
});

it("says which file has risen, and what to do when a figure has fallen", () => {
  const kept = { ceilings: { files: 2, calls: 5 }, files: { "a.ts": "3 calls", "b.ts": "2 calls" } };
  const measured = (files: number, calls: number) => ({
    ceilings: { files, calls },
    files: { "a.ts": `${calls} calls` },
    details: { "a.ts": ["7: ? one"] },
  });
  expect(problemsOf(kept, measured(1, 6))).toEqual([
    "calls: 6, more than the ceiling of 5",
    "a.ts: 6 calls; before: 3 calls",
    "    7: ? one",
    "files: 1. Lower the ceiling of 2: npm run ratchet",
  ]);
  expect(problemsOf(kept, measured(2, 5))).toEqual([]);
});

it.each([
  ["a name of several words", "src/kernel/http/a.ts", "const isOverflow = METERS;", { overflow: 1, meter: 1 }],
  [
    "a type, a member, a module",
    "src/kernel/http/a.ts",
    'import type { Plan } from "./rpc.ts"; a.plan;',
    { rpc: 1, plans: 2 },
  ],
  ["code in a template", "src/kernel/http/a.ts", `\`a \${\`\${ { plan } }\`} once\`; /\`/; // plan`, { plans: 1 }],
  ["no comment, no sentence", "src/kernel/http/a.ts", '/** A plan. */ const a = "the plan of /* b"; // plan', {}],
  ["no other word", "src/kernel/http/a.ts", "keepAlive(explode, plane)", {}],
  ["nothing where it may stand", "src/kernel/core/a.ts", "once(plan)", { plans: 1 }],
  ["Lua", "lua/a.lua", "local slot = 1 -- plan", { slots: 1 }],
])("reads names: %s", (_what, path, text, found) => {
  expect(Object.fromEntries([...featuresIn(path, text)].map(([feature, names]) => [feature, names.length]))).toEqual(
    found,
  );
});
