// When and with what a reservation is settled, and that the body passes as it comes.

import { describe, expect, it, vi } from "vitest";
import { createCut } from "../../../src/features/meter/llm/cut.ts";
import { type MeterOptions, meterResponse } from "../../../src/features/meter/llm/index.ts";
import { createAnswerScanner } from "../../../src/features/meter/llm/scanner.ts";
import { openBody } from "../../support/open-body.ts";

const SSE = { "Content-Type": "text/event-stream" };
const encoder = new TextEncoder();
const delta = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
const USAGE = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } })}\n\n`;

function reservationOf(reserved: Record<string, number>, admits: () => boolean = () => true) {
  const calls: unknown[] = [];
  return {
    calls,
    reserved,
    extend: async (more: unknown) => {
      calls.push(["extend", more]);
      return { allowed: admits() };
    },
    settle: async (actual: unknown) => {
      calls.push(["settle", actual]);
    },
    release: async () => {
      calls.push(["release"]);
    },
  };
}

const ESTIMATE = { format: "openai-chat" as const, inputTokens: 10 };
function optionsOf(meters: MeterOptions["meters"] = { tokens: { unit: "tokens" } }) {
  const work: Promise<unknown>[] = [];
  const background = { waitUntil: (one: Promise<unknown>) => void work.push(one) };
  return { options: { estimate: ESTIMATE, meters, background }, done: () => Promise.all(work) };
}

describe("settled", () => {
  it("by the usage that the answer tells, when it has ended", async () => {
    const reservation = reservationOf({ tokens: 100, requests: 1 });
    const { options, done } = optionsOf();
    const answer = meterResponse(new Response(delta("Hello") + USAGE, { headers: SSE }), reservation, options);
    expect(reservation.calls).toEqual([]);
    expect(await answer.text()).toBe(delta("Hello") + USAGE);
    await done();
    expect(reservation.calls).toEqual([["settle", { tokens: 7 }]]);
  });

  it.each(["cancel", "fail", "abort"])("by what was streamed, after %s", async (how) => {
    const reservation = reservationOf({ tokens: 100 });
    const { options, done } = optionsOf();
    const [given, client] = [openBody(), new AbortController()];
    const response = new Response(given.body, { headers: SSE });
    const answer = meterResponse(response, reservation, { ...options, signal: client.signal });
    const reader = answer.body!.getReader();
    given.send(delta("12345678"));
    await reader.read();
    if (how === "cancel") await reader.cancel();
    if (how === "abort") client.abort();
    if (how === "fail") {
      given.fail();
      await expect(reader.read()).rejects.toThrow("gone");
    }
    await done();
    expect(reservation.calls).toEqual([["settle", { tokens: 12 }]]);
    expect(given.isCancelled()).toBe(how !== "fail");
  });

  it.each([302, 500])("with nothing for status %i", async (status) => {
    const reservation = reservationOf({ tokens: 100 });
    const { options, done } = optionsOf();
    meterResponse(new Response("{}", { status }), reservation, options);
    await done();
    expect(reservation.calls).toEqual([["release"]]);
  });

  it.each<[string, (response: Response) => unknown]>([
    ["has been read", (response) => response.text()],
    ["is being read", (response) => response.body!.getReader()],
  ])("not at all if the answer %s: the caller hears of it at once", async (_, read) => {
    const reservation = reservationOf({ tokens: 100 });
    const { options, done } = optionsOf();
    const response = new Response(USAGE, { headers: SSE });
    await read(response);
    expect(() => meterResponse(response, reservation, options)).toThrow(
      "meterResponse: response: expected a body that nobody reads, found one that is read elsewhere",
    );
    await done();
    expect(reservation.calls).toEqual([]);
  });

  it.each<[string, string, Record<string, number>]>([
    ["what was reserved", delta("12345678"), {}],
    ["what was streamed, if it is more", delta("x".repeat(4_000)), { tokens: 1_010 }],
    ["what the answer tells", USAGE, { tokens: 7 }],
  ])("if its model works on in the background, with %s", async (_, text, used) => {
    const reservation = reservationOf({ tokens: 100 });
    const { options, done } = optionsOf();
    const background = { ...options, estimate: { ...ESTIMATE, isBackground: true } };
    await meterResponse(new Response(text, { headers: SSE }), reservation, background).text();
    await done();
    expect(reservation.calls).toEqual([["settle", used]]);
  });

  it("with what was reserved if the client left before the answer", async () => {
    const reservation = reservationOf({ tokens: 100 });
    const { options, done } = optionsOf();
    const given = openBody();
    const response = new Response(given.body, { headers: SSE });
    meterResponse(response, reservation, { ...options, signal: AbortSignal.abort() });
    await done();
    expect([reservation.calls, given.isCancelled()]).toEqual([[["settle", {}]], true]);
  });

  it("in each meter's own unit", async () => {
    const reservation = reservationOf({ tokens: 100, dollars: 50, requests: 1 });
    const prices = { default: { input: 10, output: 100 } };
    const { options, done } = optionsOf({
      tokens: { unit: "tokens" },
      dollars: { unit: "usd", prices },
      idle: { unit: "tokens" },
    });
    await meterResponse(new Response(USAGE, { headers: SSE }), reservation, options).text();
    await done();
    expect(reservation.calls).toEqual([["settle", { tokens: 7, dollars: 43 }]]);
  });

  it("goes on behind an empty chunk under cut", async () => {
    const scanner = createAnswerScanner(new Headers(SSE), ESTIMATE)!;
    const cut = createCut(scanner, "openai-chat", reservationOf({ tokens: 100 }), new Map([["tokens", () => 0]]));
    const sent: string[] = [];
    const pass = (text: string) =>
      cut(
        encoder.encode(text),
        (bytes) => sent.push(`${bytes.length}`),
        () => false,
      );
    expect([await pass(""), await pass("data: {}\n\n"), sent]).toEqual([true, true, ["0", "10"]]);
  });
});

it("sends each chunk on before the next arrives, and asks for no chunk before the client does", async () => {
  const { options } = optionsOf();
  const given = openBody();
  const reader = meterResponse(
    new Response(given.body, { headers: SSE }),
    reservationOf({ tokens: 9 }),
    options,
  ).body!.getReader();
  for (const text of ["data: {", '"choices', '":[]}\n', "\n"]) {
    given.send(text);
    expect(new TextDecoder().decode((await reader.read()).value)).toBe(text);
  }
});

it("slots that cannot be renewed end the body with an error, and what was streamed is settled", async () => {
  vi.useFakeTimers();
  const hold = { renewEveryMs: 1_000, renew: async () => false };
  const reservation = { ...reservationOf({ tokens: 100 }), decision: { hold } };
  const { options, done } = optionsOf();
  const given = openBody();
  const reader = meterResponse(new Response(given.body, { headers: SSE }), reservation, options).body!.getReader();
  given.send(delta("12345678"));
  await reader.read();
  const failed = expect(reader.read()).rejects.toThrow("longer than its slots can be renewed");
  await vi.advanceTimersByTimeAsync(1_000);
  await failed;
  await done();
  expect(given.isCancelled()).toBe(true);
  expect(reservation.calls).toEqual([["settle", { tokens: 12 }]]);
});
