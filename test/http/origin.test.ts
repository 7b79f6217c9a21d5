import { expect, it } from "vitest";
import { targetUrl } from "../../src/http/origin.ts";

it.each([
  ["https://origin.example", "https://gate.example/a?b=1", "https://origin.example/a?b=1"],
  ["https://origin.example/", "https://gate.example/", "https://origin.example/"],
  ["https://origin.example/base", "https://gate.example/a", "https://origin.example/base/a"],
  ["https://origin.example/base/", "https://gate.example/a", "https://origin.example/base/a"],
  ["http://origin.example:8080/b/c/", "https://gate.example:8443/", "http://origin.example:8080/b/c/"],
  // Policies match a normalised path. The origin gets the path as the client sent it.
  [
    "https://origin.example/b",
    "https://gate.example//A/%6cogin/;v=1?q=%20",
    "https://origin.example/b//A/%6cogin/;v=1?q=%20",
  ],
  ["https://origin.example/b", "https://gate.example/x/../../y", "https://origin.example/b/y"],
  ["https://origin.example/b", "https://gate.example//evil.example/x", "https://origin.example/b//evil.example/x"],
  ["https://origin.example", "https://gate.example//evil.example/x", "https://origin.example//evil.example/x"],
])("to %s, %s becomes %s", (base, requested, target) => {
  expect(new URL(targetUrl(new URL(base), requested)).href).toBe(target);
});
