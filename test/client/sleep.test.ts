import { beforeEach, expect, it, vi } from "vitest";
import { sleep } from "../../src/kernel/sleep.ts";

beforeEach(() => void vi.useFakeTimers());

const DAY_MS = 86_400_000;

it("waits longer than one timer can", async () => {
  let over = false;
  void sleep(60 * DAY_MS).then(() => {
    over = true;
  });
  await vi.advanceTimersByTimeAsync(60 * DAY_MS);
  expect(over).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(over).toBe(true);
});

it("leaves neither timer nor listener behind", async () => {
  const controller = new AbortController();
  const added = vi.spyOn(controller.signal, "addEventListener");
  const removed = vi.spyOn(controller.signal, "removeEventListener");
  const first = sleep(10, controller.signal);
  await vi.advanceTimersByTimeAsync(11);
  await first;
  expect([added.mock.calls.length, removed.mock.calls.length]).toEqual([1, 1]);

  const second = sleep(10, controller.signal);
  controller.abort("enough");
  await expect(second).rejects.toBe("enough");
  await expect(sleep(10, controller.signal)).rejects.toBe("enough");
  expect(vi.getTimerCount()).toBe(0);
});
