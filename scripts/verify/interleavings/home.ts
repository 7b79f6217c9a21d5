/** An isolate: a memory for each place under the flows that ship, on a clock and timers of the explorer. */

import { AsyncLocalStorage } from "node:async_hooks";
import { LEASES } from "../../../src/features/leases/wrap.ts";
import { SHARED } from "../../../src/features/shared/wrap.ts";
import type { TakeReply, TakeRequest } from "../../../src/kernel/core/take.ts";
import { takersOf } from "../../../src/kernel/limiter/takers.ts";
import {
  createIsolate,
  type Isolate,
  type IsolateOptions,
  type PlaceTaker,
} from "../../../src/kernel/place/isolate.ts";
import { newMemory } from "../../../src/kernel/place/memory.ts";
import { TRUSTED_ALONE_MS } from "../../../src/kernel/place/refusals.ts";
import { type Answer, type Inquiry, requestOf } from "../../../src/kernel/place/taker.ts";
import type { Store } from "../../../src/kernel/store/store.ts";
import { splitStore } from "../../../src/stores/split-store.ts";
import { noteAnswer } from "./answers.ts";
import { send } from "./network.ts";
import type { Flow, Home, HomePlace } from "./parts.ts";
import { type Scene, TRUSTED_PART } from "./scene.ts";
import { ToldAccount } from "./told.ts";

export const BUDGET_MS = 50;

/** The flow whose code runs. */
const running = new AsyncLocalStorage<Flow>();

export function begin(scene: Scene, home: Home, name: string, work: (flow: Flow) => Promise<void>): void {
  scene.begin(home, name, work, (flow, go) => running.run(flow, go));
}

/** A flow does something more. */
export function goOn(scene: Scene, flow: Flow, work: () => Promise<void>): void {
  running.run(flow, () => {
    work().catch((error: unknown) => scene.fail(`a request in flight was rejected: ${String(error)}`));
  });
}

export function newHome(scene: Scene, name: string): Home {
  const accounts = scene.cells.map(({ rules, ledger }) => {
    const told = rules.consistency === "shared" ? new ToldAccount(ledger.bucketMs) : undefined;
    return { owed: 0, repaid: 0, debtsSent: 0, owesSinceMs: 0, resetAt: 0, told };
  });
  const places: HomePlace[] = [];
  const clockMs = scene.mode.offsetsMs?.["ABC".indexOf(name)] ?? 0;
  const home: { -readonly [K in keyof Home]?: Home[K] } = { name, places, accounts, clockMs, offsetMs: clockMs };
  const nowMs = () => scene.nowMs + home.offsetMs!;
  const sleepAt = (place: number) => (ms: number) =>
    new Promise<void>((wake) => {
      const flow = running.getStore()!;
      const begun = scene.note(flow, "sleep");
      const wakesAtMs = scene.nowMs + Math.max(1, Math.ceil(ms));
      scene.sleeps.push({ id: scene.nextId(), flow, place, begun, wakesAtMs, wake });
    });
  const links = scene.places.map((_, index) => {
    const call = (request: TakeRequest | undefined, budgetMs: number) =>
      send(scene, running.getStore()!, places[index]!, request, budgetMs);
    const memory = newMemory(BUDGET_MS);
    places.push({ home: home as Home, index, memory, isStepped: false });
    const store: Store = {
      kind: "redis",
      keySecret: "none",
      timeoutMs: BUDGET_MS,
      take: (request, _nowMs, budgetMs = BUDGET_MS) => call(request, budgetMs) as Promise<TakeReply>,
      reset: async () => void (await call(undefined, BUDGET_MS)),
      ping: async () => {},
    };
    const isolate = ({ trustedMs = () => TRUSTED_ALONE_MS, wraps }: IsolateOptions = {}) => {
      const options = { memory, wraps, trustedMs: () => trustedMs() * TRUSTED_PART, random: () => scene.chance };
      return noting(scene, places[index]!, createIsolate(store, { nowMs, sleep: sleepAt(index) }, options));
    };
    return { ...store, isolate };
  });
  const store = splitStore(links, (key) => scene.cells.find((cell) => cell.key === key)!.place);
  const { strict, wrapped } = takersOf(store, { wraps: [SHARED, LEASES] });
  home.takers = { strict, leased: wrapped(LEASES), shared: wrapped(SHARED) };
  return home as Home;
}

/** Notes what a limiter is answered about a place: it may keep it while it waits for another place. */
function noting(scene: Scene, at: HomePlace, isolate: Isolate): Isolate {
  const kept = () => running.getStore()!.places[at.index]!.at(-1)!;
  /** A chain asks a place a second time, about its next link. */
  function begin(keys: readonly string[]): void {
    const all = running.getStore()!.places[at.index]!;
    if (all.at(-1)!.keys?.some((key) => keys.includes(key)) === false) all.push({});
    all.at(-1)!.keys = keys;
  }
  function noted<A extends Answer | undefined>(answer: A, { lines }: Inquiry): A {
    const [told] = answer?.replies ?? [];
    if (told) noteAnswer(scene, at, kept(), lines.map(requestOf), told);
    return answer;
  }
  const notingTaker = (taker: PlaceTaker): PlaceTaker => ({
    ...taker,
    async take(ask, call) {
      begin(ask.lines.map(({ request }) => request.key));
      const answer = await taker.take(ask, call);
      if (!answer.failure) return noted(answer, ask);
      Object.assign(kept(), { answer: "", alone: answer });
      return answer;
    },
    known: async (ask, call) => noted(await taker.known(ask, call), ask),
    beside: (ask) => noted(taker.beside(ask), ask),
  });
  return { strict: notingTaker(isolate.strict), wrapped: (wrap) => notingTaker(isolate.wrapped(wrap)) };
}
