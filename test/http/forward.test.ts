import { expect, it, vi } from "vitest";
import { createLoopGuard } from "../../src/http/loop.ts";
import { createForward } from "../../src/http/origin.ts";

it("answers 502 without the error's text when a service binding throws, and logs it", async () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => {});
  const service = {
    fetch: () => Promise.reject(new Error("10.0.0.7 is down")),
  };
  const forward = createForward({ kind: "service", service }, 0, createLoopGuard());

  const answer = await forward(new Request("https://a.example/"));

  expect([answer.status, await answer.text()]).toEqual([502, expect.not.stringContaining("10.0.0.7")]);
  expect(log).toHaveBeenCalledWith(expect.stringContaining("10.0.0.7 is down"));
  log.mockRestore();
});
