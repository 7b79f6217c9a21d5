import { expect, it, vi } from "vitest";
import { createForward, createLoopGuard } from "../../../src/kernel/http/origin.ts";

it.each([
  ["https://origin.example/", "https://gate.example/", "https://origin.example/"],
  ["https://origin.example/base/", "https://gate.example/a", "https://origin.example/base/a"],
  ["http://origin.example:8080/b/c/", "https://gate.example:8443/", "http://origin.example:8080/b/c/"],
  // Policies match a normalised path. The origin gets the path as the client sent it.
  ["https://origin.example/b", "https://gate.example//A/%6c/;v=1?q=%20", "https://origin.example/b//A/%6c/;v=1?q=%20"],
  ["https://origin.example/b", "https://gate.example/x/../../y", "https://origin.example/b/y"],
  ["https://origin.example/b", "https://gate.example//evil.example/x", "https://origin.example/b//evil.example/x"],
])("to %s, %s becomes %s", async (base, requested, target) => {
  const fetched = vi.spyOn(globalThis, "fetch").mockResolvedValue(new Response());
  await createForward({ kind: "url", url: new URL(base) }, 0, createLoopGuard())(new Request(requested));
  expect((fetched.mock.calls[0]![0] as Request).url).toBe(target);
});

it("answers 502 without the error's text when a service binding throws, and logs it", async () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => {});
  const service = { fetch: () => Promise.reject(new Error("10.0.0.7 is down")) };
  const forward = createForward({ kind: "service", service }, 0, createLoopGuard());
  const answer = await forward(new Request("https://a.example/"));
  expect([answer.status, await answer.text()]).toEqual([502, expect.not.stringContaining("10.0.0.7")]);
  expect(log).toHaveBeenCalledWith(expect.stringContaining("10.0.0.7 is down"));
});
