// When slots are renewed and released, with a clock that the test sets. test/gateway/concurrency.test.ts does the
// same over real sockets.

import { beforeEach, describe, expect, it, vi } from "vitest";
import { withRateLimit } from "../../../src/adapters/with-rate-limit.ts";
import { keepSlots } from "../../../src/features/slots/keep-slots.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { createLimiter } from "../../support/limiter.ts";

beforeEach(() => void vi.useFakeTimers());

/** A hold that records its calls, and a background that records its work. */
function recording({ renew = async () => true }: { renew?: () => Promise<boolean> } = {}) {
  const done: string[] = [];
  const works: Promise<unknown>[] = [];
  const hold = {
    renewEveryMs: 500,
    async renew() {
      done.push("renew");
      return await renew();
    },
    async release() {
      done.push("release");
    },
  };
  const background = { waitUntil: (work: Promise<unknown>) => void works.push(work) };
  return { done, hold, background, works };
}

const request = (signal?: AbortSignal) => new Request("https://gate.example/", signal ? { signal } : {});

describe("slots", () => {
  it("are released when the body has ended, not when the answer begins, with the release in the background's hands before", async () => {
    const { done, hold, background, works } = recording();
    const body = new TransformStream<Uint8Array, Uint8Array>();
    const answer = await keepSlots(hold, request(), background, async () => {
      expect(works).toHaveLength(1);
      return new Response(body.readable, { status: 201, headers: { "X-Origin": "yes" } });
    });

    expect([answer.status, answer.headers.get("X-Origin"), done]).toEqual([201, "yes", []]);
    const read = answer.text();
    const writer = body.writable.getWriter();
    await writer.write(new TextEncoder().encode("hello"));
    expect(done).toEqual([]);
    await writer.close();
    expect(await read).toBe("hello");
    await works[0];
    expect(done).toEqual(["release"]);
  });

  it.each<[string, () => Promise<Response>]>([
    ["the answer has no body", async () => new Response(null, { status: 204 })],
    ["the body is empty", async () => new Response("")],
    ["there is no answer", () => Promise.reject(new Error("down"))],
    [
      "the body fails",
      async () => new Response(new ReadableStream({ start: (controller) => controller.error(new Error("broken")) })),
    ],
  ])("are released when %s, and renewed no more", async (_, next) => {
    const { done, hold, background, works } = recording();
    await keepSlots(hold, request(), background, next).then(
      (answer) => answer.text().catch(() => {}),
      () => {},
    );
    await works[0];
    await vi.advanceTimersByTimeAsync(5_000);
    expect(done).toEqual(["release"]);
  });

  it("are released at once if somebody else reads the body, and the answer goes on as it is: its reader would wait for ever", async () => {
    const { done, hold, background, works } = recording();
    const read = new Response("hello");
    await read.text();
    expect(await keepSlots(hold, request(), background, async () => read)).toBe(read);
    await works[0];
    expect(done).toEqual(["release"]);
  });

  it("are released when the reader cancels the body, of which the origin hears", async () => {
    const { done, hold, background, works } = recording();
    const cancelled = vi.fn();
    const answer = await keepSlots(
      hold,
      request(),
      background,
      async () => new Response(new ReadableStream({ cancel: cancelled })),
    );
    await answer.body!.cancel();
    await works[0];
    expect(done).toEqual(["release"]);
    expect(cancelled).toHaveBeenCalled();
  });

  it.each([
    ["when the origin has answered", 7_000, 7_000],
    ["after 20 s if the origin does not answer", undefined, 20_000],
  ])("of a client that goes away are released %s: the origin works on", async (_, answersMs, releasedMs) => {
    const { done, hold, background, works } = recording();
    hold.renewEveryMs = 60_000;
    const client = new AbortController();
    let origin: AbortSignal | undefined;
    const answering = keepSlots(hold, request(client.signal), background, async (signal) => {
      origin = signal;
      if (answersMs !== undefined) await new Promise((resolve) => setTimeout(resolve, answersMs));
      else await new Promise((_, reject) => signal.addEventListener("abort", reject));
      return new Response("late");
    }).catch(() => {});
    client.abort();
    await vi.advanceTimersByTimeAsync(releasedMs - 1);
    expect([done, origin!.aborted]).toEqual([[], false]);
    await vi.advanceTimersByTimeAsync(1);
    await works[0];
    await answering;
    expect([done, origin!.aborted, vi.getTimerCount()]).toEqual([["release"], true, 0]);
  });

  it("of a client that goes away in the middle of the body are released at once, and the origin is told", async () => {
    const { done, hold, background, works } = recording();
    const client = new AbortController();
    let origin: AbortSignal | undefined;
    await keepSlots(hold, request(client.signal), background, async (signal) => {
      origin = signal;
      return new Response(new ReadableStream({ pull() {} }));
    });
    client.abort();
    await works[0];
    expect([done, origin!.aborted]).toEqual([["release"], true]);
  });

  it("are renewed as often as they should be while the origin thinks and while the body flows", async () => {
    const { done, hold, background, works } = recording();
    const [thought, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const answering = keepSlots(hold, request(), background, async () => {
      await thought.promise;
      return new Response(new ReadableStream({ pull: (controller) => ended.promise.then(() => controller.close()) }));
    });
    await vi.advanceTimersByTimeAsync(1_499);
    expect(done).toEqual(["renew", "renew"]);
    thought.resolve();
    const answer = await answering;
    await vi.advanceTimersByTimeAsync(1_001);
    expect(done).toHaveLength(5);
    ended.resolve();
    await answer.text();
    await works[0];
    await vi.advanceTimersByTimeAsync(5_000);
    expect(done.slice(5)).toEqual(["release"]);
  });

  it("are not released before a renewal that is under way: it would take them again", async () => {
    const slow = Promise.withResolvers<boolean>();
    const { done, hold, background, works } = recording({ renew: () => slow.promise });
    const client = new AbortController();
    const answer = Promise.withResolvers<Response>();
    void keepSlots(hold, request(client.signal), background, () => answer.promise);
    await vi.advanceTimersByTimeAsync(500);
    client.abort();
    answer.resolve(new Response(null));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(done).toEqual(["renew"]);
    slow.resolve(true);
    await works[0];
    expect(done).toEqual(["renew", "release"]);
  });

  it("are renewed 1,000 times at most: then the body ends with an error, and they are released", async () => {
    const { done, hold, background, works } = recording();
    const cancelled = vi.fn();
    const answer = await keepSlots(
      hold,
      request(),
      background,
      async () => new Response(new ReadableStream({ cancel: cancelled })),
    );
    const read = expect(answer.text()).rejects.toThrow("longer than its slots can be renewed");
    await vi.advanceTimersByTimeAsync(500 * 1_000);
    expect(done).toHaveLength(1_000);
    await vi.advanceTimersByTimeAsync(500);
    await works[0];
    await read;
    expect(cancelled).toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(done.slice(1_000)).toEqual(["release"]);
  });

  it("of policies in shadow end nothing when they cannot be renewed any more", async () => {
    const policy = { name: "tried", mode: "shadow", key: "global", limits: [{ algorithm: "concurrency", limit: 1 }] };
    const limiter = createLimiter({ policies: [policy] as never, store: memoryStore() });
    const body = new TransformStream<Uint8Array, Uint8Array>();
    const { fetch } = withRateLimit(() => new Response(body.readable), limiter);
    const reading = (await fetch(request(), {}, { waitUntil() {} } as never)).text();
    await vi.advanceTimersByTimeAsync(1_002 * 30_000);
    await body.writable.close();
    expect(await reading).toBe("");
  });

  it("are not kept by an answer that comes when they cannot be renewed any more", async () => {
    let renewals = 0;
    const { done, hold, background, works } = recording({ renew: async () => ++renewals < 3 });
    const thought = Promise.withResolvers<Response>();
    const answering = keepSlots(hold, request(), background, () => thought.promise);
    await vi.advanceTimersByTimeAsync(5_000);
    await works[0];
    expect(done).toEqual(["renew", "renew", "renew", "release"]);
    thought.resolve(new Response("late"));
    await expect((await answering).text()).rejects.toThrow("longer than its slots can be renewed");
  });

  it("are held without a background too", async () => {
    const { done, hold } = recording();
    const answer = await keepSlots(hold, request(), undefined, async () => new Response("hello"));
    expect(await answer.text()).toBe("hello");
    await vi.waitFor(() => expect(done).toEqual(["release"]));
  });
});
