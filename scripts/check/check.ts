/** `npm run check`: format, lint, types, generated files, architecture, bundle sizes and the package. No tests. */

import { spawnSync } from "node:child_process";

const steps: readonly (readonly [what: string, command: string, ...args: string[]])[] = [
  ["format and lint", "biome", "ci", "--error-on-warnings"],
  ["types (Worker)", "tsc", "-p", "tsconfig.json"],
  ["types (Node)", "tsc", "-p", "scripts/tsconfig.json"],
  ["types (console)", "tsc", "-p", "console/tsconfig.json"],
  ["generated script", "node", "scripts/build/build-lua.ts", "--check"],
  ["generated schema", "node", "scripts/build/build-schema.ts", "--check"],
  ["tables of fields", "node", "scripts/docs/build-fields.ts", "--check"],
  ["generated console", "node", "scripts/build/build-console.ts", "--check"],
  ["API page", "node", "scripts/docs/build-api.ts", "--check"],
  ["architecture", "node", "scripts/check/architecture.ts"],
  ["length of comments", "node", "scripts/check/comment-length.ts"],
  ["bundle size", "node", "scripts/check/bundle-size.ts"],
  ["package", "node", "scripts/check/check-package.ts"],
];

const failed: string[] = [];
for (const [what, command, ...args] of steps) {
  console.log(`\n# ${what}`);
  // npm puts node_modules/.bin first on PATH, so these are the pinned tools.
  const { status } = spawnSync(command, args, { stdio: "inherit" });
  if (status !== 0) failed.push(what);
}
console.log(failed.length === 0 ? "\ncheck: all passed" : `\ncheck: failed: ${failed.join(", ")}`);
process.exit(failed.length === 0 ? 0 : 1);
