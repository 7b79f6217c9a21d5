// A proxy between one gateway and the REST service that loses some calls and some answers, by chance with a seed, and
// notes what became of every call of the script. It imports nothing of vitest: scripts/stress uses it too.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { Agent, request as ask } from "undici";
import { Flag, HEAD_FLAGS } from "../../../src/kernel/core/layout.ts";
import { mulberry32 } from "../mulberry32.ts";
import { BACKLOG, type CountedCall, IN_TIME } from "./counted-calls.ts";

/**
 * What happens to a call. `ran`: it runs, and its answer is lost. `cut`: its connection is reset before it runs.
 * `hangs`: it does not run, and there is no answer. `late`: it runs, and its answer comes after the time budget.
 * `error`: it does not run, and the service answers 500. `refused`: Redis refuses to write.
 */
export type CallFault = "ran" | "cut" | "hangs" | "late" | "error" | "refused";

/** Thousands of calls may be open at once. A process may not have many more open files: none is kept open. */
const [CONNECTIONS, CLOSED] = [128, { Connection: "close" }];

const ANSWERS = {
  error: [500, "ERR internal error"],
  refused: [400, "OOM command not allowed when used memory > 'maxmemory'."],
} as const;

/** How the bridge's error ends when it has lost its connection to Redis. */
const MAY_HAVE_RUN = "the command may have run";

export interface CallProxy {
  readonly url: string;
  readonly calls: readonly CountedCall[];
  /** How many calls have met a fault. */
  readonly faults: number;
  /** The part of the calls that meet a fault. */
  rate: number;
  /** No call that is under way was made before this instant, by `performance.now()`. */
  sinceMs: number;
  /** How far Redis's clock is ahead, in ms; 0: the script reads it. */
  aheadMs: number;
  /** Resolves when no call is under way. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

interface Options {
  readonly seed: number;
  /** The faults, each as often as it stands here. */
  readonly faults: readonly CallFault[];
  /** The time budget of the gateway, in ms. */
  readonly budgetMs: number;
}

/** By how much a late answer misses the time budget, in ms. */
const LATE_BY_MS = 200;

/** @param target base URL of the REST service. */
export async function startCallProxy(target: string, { seed, faults, budgetMs }: Options): Promise<CallProxy> {
  const random = mulberry32(seed);
  const calls: CountedCall[] = [];
  const underWay = new Set<Promise<void>>();
  const state = { rate: 0, sinceMs: performance.now(), aheadMs: 0, faults: 0 };
  const dispatcher = new Agent({ connections: CONNECTIONS });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const command = (await json(request)) as (string | number)[];
    const fault = random() < state.rate ? faults[Math.floor(random() * faults.length)] : undefined;
    if (fault) state.faults++;
    const isScript = /^eval/i.test(String(command[0]));
    const count = isScript ? Number(command[2]) : 0;
    const call = {
      keys: command.slice(3, 3 + count).map(String),
      isGiveBack: Number(command[4 + count]) % HEAD_FLAGS === Flag.giveBack,
    };
    const note = (outcome: CountedCall["outcome"], result?: unknown) => {
      if (isScript) calls.push({ ...call, outcome, result });
    };
    const send = (status: number, text: string) => {
      response.writeHead(status, { "Content-Type": "application/json", ...CLOSED }).end(text);
    };
    if (fault && fault !== "ran" && fault !== "late") note("not-run");
    if (fault === "cut") return void request.socket.resetAndDestroy();
    if (fault === "hangs") return;
    if (fault === "error" || fault === "refused") {
      return send(ANSWERS[fault][0], JSON.stringify({ error: ANSWERS[fault][1] }));
    }
    const sent = isScript && state.aheadMs > 0 ? command.with(3 + count, Date.now() + state.aheadMs) : command;
    const { authorization = "" } = request.headers;
    const passed = await ask(`${target}${request.url}`, {
      ...{ method: "POST", headers: { Authorization: authorization }, body: JSON.stringify(sent), dispatcher },
    });
    const text = await passed.body.text();
    const { result, error } = JSON.parse(text) as { result?: unknown; error?: string };
    if (fault === "late") await new Promise((resolve) => setTimeout(resolve, budgetMs + LATE_BY_MS));
    // The gateway's time began to run before the proxy read the call.
    const isInTime = fault !== "ran" && performance.now() - state.sinceMs < IN_TIME * budgetMs;
    if (error?.endsWith(MAY_HAVE_RUN)) note("unknown");
    else if (error !== undefined) note("not-run");
    else note(isInTime ? "heard" : "late", result);
    if (fault === "ran") return void request.socket.destroy();
    send(passed.statusCode, text);
  }

  const server = createServer((request, response) => {
    const work = answer(request, response).catch(() => void response.destroy());
    underWay.add(work);
    work.finally(() => underWay.delete(work));
  });
  server.on("connection", (socket) => socket.on("error", () => {}));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", BACKLOG, resolve));

  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    async idle() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await dispatcher.close();
    },
  });
}
