// Four providers of language models on a free port: OpenAI chat completions, responses and embeddings, Anthropic
// messages, Gemini's generateContent, Groq's chat completions.
// It answers in JSON or as a stream, as each request's plan says, and records what it received and told.

import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../../scripts/machine/redis-server.ts";
import { answerOf, type MockEvent, type MockRequest } from "./answer.ts";
import { eventBytes, rechunk } from "./bytes.ts";
import { formatOfPath, jsonPieces, streamEvents, usageOf } from "./formats.ts";
import { contentRequest } from "./google-gemini.ts";
import { type MockFormat, type MockPlan, type MockUsage, PLAN_HEADER, readPlan } from "./plan.ts";

/** One request and what became of its answer. */
export interface MockExchange {
  /** With the query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** The bytes of the body as they arrived. */
  readonly body: Buffer;
  readonly format: MockFormat;
  readonly plan: MockPlan;
  /** The model that has answered. Absent for an error instead of an answer. */
  readonly model?: string;
  readonly status: number;
  /** The usage that was told last in what has been written. Absent: nothing was told. */
  readonly usage?: MockUsage;
  /** The text of the model in the events that have been written whole. */
  readonly text: string;
  /** Bytes of the answer's body that have been written. */
  readonly writtenBytes: number;
  /** The client closed the connection before the answer was complete. */
  readonly clientGone: boolean;
  /** When the answer has ended, in whatever way. */
  readonly closed: Promise<void>;
}

export interface MockProvider {
  /** Without a path: clients add `/v1`. */
  readonly url: string;
  /** All requests in the order of their arrival. */
  readonly exchanges: readonly MockExchange[];
  /** How many answers have begun and have not ended. */
  readonly inFlight: number;
  /** Lets all answers go on that wait by `holdAfter`. */
  resume(): void;
  /** Usage of all answers, added up as they told it. */
  told(): MockUsage;
  close(): Promise<void>;
}

type Mutable<T> = { -readonly [key in keyof T]: T[key] };
type Exchange = Mutable<MockExchange>;

/** The next `count` of a sequence. Unlike `for` with `break`, it leaves the sequence open. */
function* take<T>(rest: Iterator<T>, count: number): Generator<T> {
  for (let i = 0; i < count; i++) {
    const { done, value } = rest.next();
    if (done) return;
    yield value;
  }
}

/** Writes events, and records of each what it told when its last byte has been written. */
async function write(exchange: Exchange, response: ServerResponse, events: Iterable<MockEvent>, isStream: boolean) {
  const { plan } = exchange;
  const unwritten: { end: number; event: MockEvent }[] = [];
  let end = exchange.writtenBytes;
  function* bytes() {
    for (const event of events) {
      const piece = isStream ? eventBytes(event, plan) : Buffer.from(event.data);
      end += piece.length;
      unwritten.push({ end, event });
      yield piece;
    }
  }
  for (const chunk of rechunk(bytes(), plan)) {
    if (plan.delayMs > 0) await sleep(plan.delayMs);
    if (response.destroyed) return;
    const hasRoom = response.write(chunk);
    exchange.writtenBytes += chunk.length;
    while (unwritten.length > 0 && unwritten[0]!.end <= exchange.writtenBytes) {
      const { event } = unwritten.shift()!;
      exchange.text += event.text ?? "";
      if (event.usage) exchange.usage = usageOf(exchange.format, event.usage);
    }
    if (hasRoom) continue;
    await Promise.race([new Promise((resolve) => response.once("drain", resolve)), exchange.closed]);
  }
}

export async function startMockProvider(): Promise<MockProvider> {
  const exchanges: Exchange[] = [];
  let inFlight = 0;
  let held = Promise.withResolvers<void>();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = request.url!;
    const [path = ""] = url.split("?");
    const format = formatOfPath(path);
    const plan = readPlan(request.headers[PLAN_HEADER]?.toString());
    const closed = Promise.withResolvers<void>();
    const body = await buffer(request);
    inFlight += 1;
    const exchange: Exchange = {
      url,
      headers: request.headers,
      body,
      format: format ?? "openai-chat",
      plan,
      status: format ? (plan.status ?? 200) : 404,
      text: "",
      writtenBytes: 0,
      clientGone: false,
      closed: closed.promise,
    };
    response.on("close", () => {
      inFlight -= 1;
      exchange.clientGone = !response.writableFinished;
      closed.resolve();
    });
    exchanges.push(exchange);

    const hold = () => Promise.race([held.promise, exchange.closed]);
    if (plan.holdAfter === 0) await hold();
    response.statusCode = exchange.status;
    if (exchange.status !== 200) {
      const error = { type: "server_error", message: "The server had an error while processing your request." };
      response.setHeader("content-type", "application/json").end(JSON.stringify({ error }));
      return;
    }

    const parsed = JSON.parse(body.toString());
    const asked: MockRequest = exchange.format === "google-gemini" ? contentRequest(path) : parsed;
    const said = answerOf(asked, plan);
    exchange.model = said.model;
    const isStream = asked.stream === true && exchange.format !== "openai-embeddings";
    const events = isStream ? streamEvents(exchange.format, said) : jsonPieces(exchange.format, said);
    response.setHeader("content-type", isStream ? "text/event-stream; charset=utf-8" : "application/json");
    const rest = events[Symbol.iterator]();
    if (plan.holdAfter) {
      await write(exchange, response, take(rest, plan.holdAfter), isStream);
      await hold();
    }
    await write(exchange, response, take(rest, Number.POSITIVE_INFINITY), isStream);
    response.end();
  }

  const server = createServer((request, response) => {
    // A body that is not JSON, for example. The message says it to whoever sent it.
    answer(request, response).catch((error: Error) => {
      if (!response.headersSent) response.statusCode = 400;
      response.end(error.stack);
    });
  });
  // Node's default of 5 s closes idle connections that a gateway may be about to use.
  server.keepAliveTimeout = 120_000;
  // Nobody else gets this port when the provider is closed.
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));

  return {
    url: `http://127.0.0.1:${port}`,
    exchanges,
    get inFlight() {
      return inFlight;
    },
    resume() {
      held.resolve();
      held = Promise.withResolvers();
    },
    told() {
      const sum: Partial<Mutable<MockUsage>> = {};
      for (const { usage } of exchanges) {
        for (const [name, count] of Object.entries(usage ?? {}) as [keyof MockUsage, number][]) {
          sum[name] = (sum[name] ?? 0) + count;
        }
      }
      return sum as MockUsage;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
