import { expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { VERSION } from "../../src/version.ts";

it("src/version.ts has the version of the package", () => {
  expect(VERSION).toBe(packageJson.version);
});
