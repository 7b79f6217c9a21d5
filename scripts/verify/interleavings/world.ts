/**
 * One execution: isolates with the real flows of src/isolate, one store with the real core, messages in between, and a
 * clock that moves only when it is told to. Nothing happens by itself: each step is a choice.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import type { Decision } from "../../../src/core/decision.ts";
import { Kind } from "../../../src/core/layout.ts";
import { ENFORCED, Flag, type TakeReply, type TakeRequest } from "../../../src/core/take.ts";
import { createIsolate, type Isolate } from "../../../src/isolate/isolate.ts";
import { type Memory, newMemory } from "../../../src/isolate/memory.ts";
import type { Background } from "../../../src/isolate/reply-source.ts";
import type { Decider, PolicyKey } from "../../../src/limiter/decide.ts";
import { createDecideOnce } from "../../../src/limiter/decide-once.ts";
import { type Counts, createCounts } from "../../../src/store/memory.ts";
import { type Store, StoreError } from "../../../src/store/store.ts";
import { Forms } from "./canonical.ts";
import { leaseWish } from "./lease-choices.ts";
import { Ledger, stepForm } from "./ledger.ts";
import { type Bounds, type Mode, policyOf } from "./modes.ts";

export const WINDOW_MS = 1_000;
/** Shortly before the end of a bucket. */
const START_MS = 1_800_000_000_000 - 100;
const BUDGET_MS = 50;
const TRUSTED_MS = 300;
/** A clock steps back by this. */
const STEP_MS = 40;
const KEY = "client";
/** Beside the end of a bucket, an isolate does not know on which side of it the store is. */
const NEAR_END_MS = [-3, 0, 9] as const;

/** A request, a reset or a settlement, with everything that it does in the background. */
export interface Flow {
  readonly id: number;
  readonly home: Home;
  readonly name: string;
  /** What it can keep across an await beside its request, see `#note`. */
  trace: object[];
  isTold: boolean;
  /** Of a reset: the step of the store in which it has arrived. */
  resetAt: number;
  /** It was admitted without the store. */
  isAlone: boolean;
  /** The last reply to a take of this flow. */
  heard: TakeReply | undefined;
}

/** An isolate. */
interface Home {
  readonly name: string;
  readonly memory: Memory;
  readonly isolate: Isolate;
  readonly decider: Decider;
  /** Its clock less the store's clock. */
  offsetMs: number;
  /** Its clock was set back, and no call since has shown it. Until then it cannot know. */
  isStepped: boolean;
  /** Units that it owes to the store, those of them that it has sent, and when it owed the first of them. */
  owed: number;
  repaid: number;
  owesSinceMs: number;
  /** The step of the store in which the last reset of this isolate has arrived. */
  resetAt: number;
}

interface Message {
  readonly id: number;
  /** undefined: nobody waits for the reply any more. */
  flow: Flow | undefined;
  readonly home: Home;
  readonly words: string;
  /** When it was sent: the flow keeps it until the reply. */
  readonly sent: object;
  readonly request: TakeRequest | undefined;
  readonly budgetEndsAtMs: number;
  state: "sent" | "arrived" | "lost";
  isLate: boolean;
  reply: TakeReply | undefined;
  resolve(reply: TakeReply | undefined): void;
  reject(error: unknown): void;
  answerLate(reply: TakeReply | undefined): void;
}

interface Sleep {
  readonly id: number;
  readonly flow: Flow;
  readonly begun: object;
  readonly wakesAtMs: number;
  wake(): void;
}

export type Choice = readonly [name: string, ...on: (number | string)[]];

const running = new AsyncLocalStorage<Flow>();

/** Whatever the program writes to the console is a fault: a shortcut has thrown. */
let written: string | undefined;
console.error = (...all: unknown[]) => {
  written ??= all.map((one) => (one instanceof Error ? (one.stack ?? one.message) : String(one))).join(" ");
};

export class World {
  readonly story: string[] = [];
  broken: string | undefined;
  #nowMs = START_MS;
  readonly #mode: Mode;
  readonly #left: { -readonly [K in keyof Bounds]: number };
  readonly #homes: Home[];
  readonly #counts: Counts = createCounts(20_000);
  #messages: Message[] = [];
  #sleeps: Sleep[] = [];
  #flows: Flow[] = [];
  #ids = 0;
  #limit: number;
  readonly #ledger: Ledger;
  /** Nothing new begins any more, and nothing is checked but what must be true in the end. */
  #isEnding = false;

  constructor(mode: Mode) {
    this.#mode = mode;
    this.#left = { ...mode.bounds };
    this.#limit = mode.limit;
    this.#homes = ["A", "B", "C"].slice(0, mode.isolates).map((name) => this.#home(name));
    this.#ledger = new Ledger(mode);
    leaseWish.units = 0;
    written = undefined;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** All that may happen now, in a fixed order. */
  choices(): Choice[] {
    const left = this.#left;
    const all: Choice[] = [];
    for (const { id, state, flow, isLate, budgetEndsAtMs, request } of this.#messages) {
      if (state === "sent") all.push(["arrive", id]);
      if (state === "arrived" && flow) all.push(["reply", id]);
      if (flow && !isLate && request && budgetEndsAtMs <= this.#nowMs) all.push(["late", id]);
      if (flow && state === "lost" && isLate) all.push(["never", id]);
      if (left.faults > 0 && flow && !isLate) {
        if (state !== "lost") all.push(["lose", id]);
        if (state === "sent") all.push(["refuse", id]);
        if (state !== "lost" && request) all.push(["break", id]);
      }
    }
    for (const { id, wakesAtMs } of this.#sleeps) if (wakesAtMs <= this.#nowMs) all.push(["wake", id]);
    if (left.ended > 0) for (const { id } of this.#flows) all.push(["end", id]);
    for (const [h, { name, memory }] of this.#homes.entries()) {
      // Isolates that know nothing yet are alike: the first of them.
      const isFresh = memory.last === 0 && !this.#flows.some(({ home }) => home === this.#homes[h]);
      const earlier = this.#homes.slice(0, h).some((one) => one.memory.last === 0 && one.offsetMs === 0);
      if (isFresh && earlier) continue;
      if (left.requests > 0) {
        for (const cost of this.#mode.costs) {
          for (const wish of this.#mode.wishes) all.push(["request", name, cost, wish]);
        }
      }
      if (left.resets > 0) all.push(["reset", name]);
      if (left.deaths > 0 && memory.last > 0) all.push(["die", name]);
      if (left.steps > 0 && memory.last > 0) all.push(["step", name]);
    }
    if (left.changes > 0) all.push(["change", this.#limit === this.#mode.limit ? this.#mode.other : this.#mode.limit]);
    if (left.passes > 0 && this.#mayPass()) all.push(["pass"]);
    return all;
  }

  async run(choices: readonly Choice[]): Promise<void> {
    for (const choice of choices) {
      await this.apply(choice);
      if (this.broken) return;
    }
  }

  async apply([name, on, ...more]: Choice): Promise<void> {
    const left = this.#left;
    switch (name) {
      case "request": {
        left.requests--;
        const [cost, wish] = more as [number, number];
        leaseWish.units = wish;
        this.#request(this.#named(on), cost);
        break;
      }
      case "reset": {
        left.resets--;
        const home = this.#named(on);
        this.#say(`${home.name}: an operator resets the client`);
        this.#begin(home, "reset", async (flow) => {
          flow.isTold = true;
          const isDone = await home.isolate.replies.reset([KEY]).then(
            () => true,
            () => false,
          );
          if (this.#messages.length > 0) this.#ledger.voided();
          if (!isDone) return;
          home.owed = home.repaid = 0;
          home.resetAt = flow.resetAt;
        });
        break;
      }
      case "die": {
        left.deaths--;
        const home = this.#named(on);
        this.#say(`${home.name} dies; a new isolate takes its place`);
        this.#ledger.died();
        for (const flow of this.#flows) if (flow.home === home) this.#drop(flow);
        this.#flows = this.#flows.filter((flow) => flow.home !== home);
        this.#homes[this.#homes.indexOf(home)] = this.#home(home.name);
        break;
      }
      case "step":
        left.steps--;
        this.#named(on).offsetMs -= STEP_MS;
        this.#named(on).isStepped = true;
        this.#say(`${on}: the clock is set back by ${STEP_MS} ms`);
        break;
      case "change":
        left.changes--;
        this.#limit = Number(on);
        this.#ledger.changed(this.#limit, this.#nowMs);
        this.#say(`the limit is now ${on}`);
        break;
      case "end": {
        left.ended--;
        const flow = this.#flows.find(({ id }) => id === on)!;
        this.#say(`${flow.home.name}: the runtime ends ${flow.name}`);
        this.#drop(flow);
        this.#flows = this.#flows.filter((one) => one !== flow);
        break;
      }
      case "pass":
        left.passes--;
        this.#pass();
        break;
      case "wake": {
        const sleep = this.#sleeps.find(({ id }) => id === on)!;
        this.#sleeps = this.#sleeps.filter((one) => one !== sleep);
        this.#say(`${sleep.flow.home.name}: ${sleep.flow.name} wakes`);
        this.#note(sleep.flow, "wake");
        sleep.wake();
        break;
      }
      default:
        this.#deliver(name, this.#messages.find(({ id }) => id === on)!);
    }
    await this.#settled();
    this.#flows = this.#flows.filter((flow) => !flow.isTold || this.#isBusy(flow));
    if (written) this.#fail(`the isolate's own code threw: ${written}`);
    if (!this.#isEnding)
      this.#fail(this.#ledger.check(this.#nowMs, this.#memories(), this.#charged(), this.#isQuiet()));
  }

  /** What the state is, see canonical.ts. */
  form(): string {
    const forms = new Forms(this.#nowMs);
    const homes = this.#homes.map((home) => {
      const flows = this.#flows.filter((flow) => flow.home === home);
      const ops = flows.map((flow) => [
        flow.name,
        stepForm(flow.resetAt),
        String(flow.isTold),
        flow.trace,
        ...this.#messages.filter((one) => one.flow === flow).map((one) => [this.#messageForm(one, forms), one.sent]),
        ...this.#sleeps.filter((one) => one.flow === flow).map((one) => [forms.instant(one.wakesAtMs), one.begun]),
      ]);
      const heard = `${this.#ledger.stepOf(home.memory.records.get(KEY)?.replies)} ${stepForm(home.resetAt)}`;
      return `${forms.isolate(home.memory, ops)} ${home.offsetMs} ${home.isStepped} ${home.owed} ${home.repaid} ${forms.instant(home.owesSinceMs)} ${heard}`;
    });
    const orphans = this.#messages.filter(({ flow }) => !flow).map((one) => this.#messageForm(one, forms));
    const all = [
      this.#ledger.form(),
      forms.plain(this.#counts.read(KEY) ?? []),
      JSON.stringify(this.#left),
      `${this.#limit} ${this.#nowMs % WINDOW_MS} ${leaseWish.units}`,
      ...orphans.sort(),
      ...homes,
    ];
    // Steps of the store are renamed in their order, too.
    const steps = all.flatMap((one) => [...one.matchAll(/@(\d+)@/g)].map(([, step]) => Number(step)));
    const ranks = new Map([...new Set(steps)].sort((a, b) => a - b).map((step, i) => [step, i]));
    const renamed = all.map((one) => one.replace(/@(\d+)@/g, (_, step: string) => `s${ranks.get(Number(step))}`));
    return [...renamed.slice(0, -homes.length), ...renamed.slice(-homes.length).sort()].join("\n");
  }

  /** Lets everything end that has begun, with answers to all calls. Then nothing may be held any more. */
  async end(): Promise<void> {
    this.#isEnding = true;
    for (let steps = 0; this.#flows.length > 0 || this.#messages.length > 0; steps++) {
      if (steps > 400) return this.#fail("something goes on for ever after the last request");
      const [next] = this.choices().filter(([name]) => ["arrive", "reply", "late", "never", "wake"].includes(name));
      if (next) await this.apply(next);
      else if (this.#flows.length > 0 && this.#instants().length > 0 && this.#mayPass()) this.#pass();
      else return this.#fail(`${this.#flows[0]?.home.name}: ${this.#flows[0]?.name} waits for nothing, for ever`);
      if (this.broken) return;
    }
    for (const home of this.#homes) {
      if (home.owed === home.repaid || this.#nowMs - home.owesSinceMs > WINDOW_MS / 2 || home.offsetMs !== 0) continue;
      const { decision } = await this.#askAtLast(home, 1);
      const isRepaid = home.repaid >= Math.min(home.owed, this.#limit);
      if (decision?.source === "redis" && !isRepaid) return this.#fail("what the isolate owes is never repaid");
      if (this.broken) return;
    }
    const stock = this.#ledger.stockIn(this.#memories(), this.#nowMs);
    if (stock > 0) return this.#fail(`${stock} leased units are never returned`);
    this.#nowMs += 3 * WINDOW_MS + 15_000;
    this.#say("all windows end");
    for (const home of this.#homes) {
      this.#nowMs += 2 * WINDOW_MS;
      const told = await this.#askAtLast(home, this.#limit);
      if (this.broken) return;
      if (!told.decision?.allowed) return this.#fail("a full limit is refused although all windows have ended");
    }
  }

  async #askAtLast(home: Home, cost: number): Promise<{ decision?: Decision }> {
    leaseWish.units = 0;
    const told = this.#request(home, cost);
    await this.#settled();
    for (let steps = 0; steps < 60 && (!told.decision || this.#messages.length > 0) && !this.broken; steps++) {
      const [next] = this.choices().filter(([name]) => ["arrive", "reply", "late", "wake"].includes(name));
      if (next) await this.apply(next);
      else this.#pass();
    }
    return told;
  }

  #request(home: Home, cost: number): { decision?: Decision } {
    const policy = policyOf(this.#mode, this.#limit);
    const request = { key: KEY, group: ENFORCED, cost, limits: policy.limits };
    const keys: PolicyKey[] = [{ take: 0, policy, limits: policy.limits, request }];
    const told: { decision?: Decision } = {};
    const wish = leaseWish.units > 0 ? `, and the isolate would like ${leaseWish.units} units ahead` : "";
    this.#say(`${home.name}: a request comes, cost ${cost}${wish}`);
    this.#begin(home, `the request of cost ${cost}`, async (flow) => {
      const background: Background = { waitUntil: (work) => void work.catch(() => {}) };
      const mayLease = policy.consistency === "leased";
      const answered = await home.decider.decide(keys, { flag: Flag.take, slot: 0, background, mayLease });
      const { decision } = answered;
      flow.isTold = true;
      told.decision = decision;
      const word = decision.allowed ? "admitted" : `${decision.outcome}, wait ${decision.retryAfterMs ?? "not known"}`;
      this.#say(`${home.name}: ${flow.name} is ${word} (${decision.source})`);
      this.#note(flow, `told ${decision.outcome} ${decision.source}`);
      const isOwed = answered.failure === "OVERLOADED" || mayLease;
      flow.isAlone = decision.source === "fallback" && decision.allowed;
      if (flow.isAlone && isOwed) this.#owe(home, cost);
      if (this.#isEnding) return;
      this.#ledger.told(decision, answered.atMs ?? 0, cost, this.#nowMs);
      if (!decision.allowed && decision.source !== "fallback" && !home.isStepped) {
        const look = (atMs: number) => this.#look(keys[0]!.request, atMs);
        const { heard } = flow;
        const isOwn = decision.source === "redis" && heard?.allowed === false;
        const localMs = this.#nowMs + home.offsetMs;
        const basis = isOwn ? { replies: heard.keys[0]!, receivedAtMs: localMs } : this.#ledger.basis(home.memory, KEY);
        const refusal = { basis, resetAt: home.resetAt, localMs, nowMs: this.#nowMs, trustedMs: TRUSTED_MS, look };
        this.#fail(this.#ledger.checkRefusal(decision, refusal));
      }
    });
    return told;
  }

  #begin(home: Home, name: string, work: (flow: Flow) => Promise<void>): void {
    const flow: Flow = {
      id: ++this.#ids,
      home,
      name,
      trace: [],
      isTold: false,
      isAlone: false,
      resetAt: 0,
      heard: undefined,
    };
    this.#flows.push(flow);
    this.#note(flow, "begin");
    running.run(flow, () => {
      work(flow).catch((error: unknown) => this.#fail(`a request was rejected: ${String(error)}`));
    });
  }

  #owe(home: Home, units: number): void {
    if (home.owed === home.repaid) home.owesSinceMs = this.#nowMs;
    home.owed += units;
  }

  #deliver(name: string, message: Message): void {
    const { flow, home, words, request } = message;
    const isFault = ["lose", "refuse", "break"].includes(name);
    // What is not given back lapses with its window.
    if (isFault && request?.flag === Flag.giveBack) this.#ledger.doubted();
    switch (name) {
      case "arrive":
        this.#arrive(message);
        return;
      case "lose":
        this.#left.faults--;
        this.#say(`${home.name}: ${message.state === "sent" ? words : `the reply to ${words}`} is lost`);
        if (message.state === "arrived") this.#ledger.lost(message.reply, request);
        message.state = "lost";
        // A reset has no time budget of its own here: its connection breaks.
        if (!request) this.#endMessage(message, () => message.reject(new StoreError("NETWORK")));
        return;
      case "refuse":
        this.#left.faults--;
        this.#say(`${home.name}: ${words} is refused before it runs`);
        if (request?.flag === Flag.chargeAnyway) home.repaid = Math.max(0, home.repaid - request.keys[0]!.cost);
        this.#endMessage(message, () => message.reject(new StoreError("OVERLOADED")));
        return;
      case "break":
        this.#left.faults--;
        this.#say(`${home.name}: the connection of ${words} breaks`);
        if (message.state === "arrived") this.#ledger.lost(message.reply, request);
        this.#note(flow!, "break");
        message.flow = undefined;
        if (message.state === "arrived") this.#remove(message);
        message.reject(new StoreError("NETWORK"));
        return;
      case "late": {
        this.#say(`${home.name}: the time for ${words} ends`);
        message.isLate = true;
        this.#note(flow!, "late");
        const answer = new Promise<TakeReply | undefined>((resolve) => {
          message.answerLate = resolve;
        });
        message.reject(new StoreError("TIMEOUT", undefined, { answer, hasFailed: answer.then((one) => !one) }));
        return;
      }
      case "never":
        this.#say(`${home.name}: no reply to ${words} will come`);
        this.#endMessage(message, () => message.answerLate(undefined));
        return;
      case "reply":
        this.#say(`${home.name}: the reply to ${words} comes${message.isLate ? " late" : ""}`);
        // What the isolate has leased during its own reset lapses with its window.
        if (!request && this.#ledger.stockIn([home.memory], this.#nowMs) > 0) this.#ledger.voided();
        if (message.isLate && flow!.isAlone && message.reply?.allowed === false)
          this.#owe(home, request!.keys[0]!.cost);
        this.#endMessage(message, () => (message.isLate ? message.answerLate : message.resolve)(message.reply));
        return;
      default:
        throw new Error(`expected a choice, found ${name}`);
    }
  }

  #arrive(message: Message): void {
    const { home, words, request } = message;
    message.state = "arrived";
    if (request) {
      const before = this.#charged();
      message.reply = this.#counts.take(request, this.#nowMs);
      const charged = this.#charged() - before;
      this.#say(`store: ${words} of ${home.name} arrives: ${message.reply.allowed ? "allowed" : "refused"}`);
      this.#ledger.arrived(request, message.reply, charged, this.#nowMs);
      if (!message.flow) this.#ledger.lost(message.reply, request);
    } else {
      this.#counts.write(KEY, undefined);
      this.#say(`store: the reset of ${home.name} arrives`);
      const others = this.#homes.filter((one) => one !== home).map(({ memory }) => memory);
      this.#ledger.reset(this.#nowMs, this.#flows.some(({ isTold }) => !isTold) || this.#messages.length > 1, others);
      // Units that the isolate has leased since the reset began go when it ends.
      if (this.#ledger.stockIn([home.memory], this.#nowMs, true) > 0) this.#ledger.loosen();
      if (message.flow) message.flow.resetAt = this.#ledger.steps;
    }
    if (!message.flow) this.#remove(message);
  }

  #endMessage(message: Message, answer: () => void): void {
    this.#remove(message);
    this.#ledger.heard(message.reply, message.request);
    message.home.isStepped = false;
    if (message.request?.flag === Flag.take && !message.isLate) message.flow!.heard = message.reply;
    this.#note(message.flow!, message.isLate ? "late reply" : "reply");
    answer();
  }

  #remove(message: Message): void {
    this.#messages = this.#messages.filter((one) => one !== message);
  }

  /** Nothing of this flow runs any more. What it has sent is still on its way. */
  #drop(flow: Flow): void {
    this.#sleeps = this.#sleeps.filter((one) => one.flow !== flow);
    this.#ledger.doubted();
    for (const message of this.#messages) {
      if (message.flow !== flow) continue;
      message.flow = undefined;
      if (message.state === "arrived") this.#ledger.lost(message.reply, message.request);
    }
    this.#messages = this.#messages.filter((one) => one.flow || one.state === "sent");
  }

  #isBusy(flow: Flow): boolean {
    return this.#messages.some((one) => one.flow === flow) || this.#sleeps.some((one) => one.flow === flow);
  }

  #isQuiet(): boolean {
    return this.#messages.length === 0 && this.#flows.every(({ isTold }) => isTold);
  }

  #home(name: string): Home {
    const memory = newMemory(BUDGET_MS);
    const home: { -readonly [K in keyof Home]?: Home[K] } = {
      name,
      memory,
      offsetMs: 0,
      isStepped: false,
      owed: 0,
      repaid: 0,
      owesSinceMs: 0,
    };
    const link: Store = {
      kind: "redis",
      keySecret: "none",
      timeoutMs: BUDGET_MS,
      take: (request, _nowMs, budgetMs = BUDGET_MS) => this.#send(request, budgetMs) as Promise<TakeReply>,
      reset: async () => void (await this.#send(undefined, BUDGET_MS)),
      ping: async () => {},
    };
    const timing = {
      nowMs: () => this.#nowMs + home.offsetMs!,
      sleep: (ms: number) =>
        new Promise<void>((wake) => {
          const flow = running.getStore()!;
          const begun = this.#note(flow, "sleep");
          this.#sleeps.push({
            id: ++this.#ids,
            flow,
            begun,
            wakesAtMs: this.#nowMs + Math.max(1, Math.ceil(ms)),
            wake,
          });
        }),
    };
    home.isolate = createIsolate(link, timing, { memory, trustedMs: () => TRUSTED_MS });
    home.decider = createDecideOnce(link, home.isolate);
    return home as Home;
  }

  #send(request: TakeRequest | undefined, budgetMs: number): Promise<TakeReply | undefined> {
    const flow = running.getStore()!;
    const sent = this.#note(flow, "call");
    if (request?.flag === Flag.chargeAnyway) {
      flow.home.repaid += request.keys[0]!.cost;
      const { owed, repaid } = flow.home;
      if (repaid > owed) this.#fail(`the isolate has repaid ${repaid} units, and it owed ${owed}`);
    }
    return new Promise((resolve, reject) => {
      this.#messages.push({
        id: ++this.#ids,
        flow,
        home: flow.home,
        words: wordsOf(request),
        sent,
        request,
        budgetEndsAtMs: this.#nowMs + Math.max(1, Math.ceil(budgetMs)),
        state: "sent",
        isLate: false,
        reply: undefined,
        resolve,
        reject,
        answerLate: () => {},
      });
    });
  }

  /**
   * A flow keeps numbers and instants of its begin until it has told its answer, and after that only the answer. What
   * it keeps of a call or sleep is noted there. A leased take counts its calls too. After a step of a clock the return
   * of units compares instants of any await: with steps everything is kept.
   */
  #note(flow: Flow, event: string): object {
    const { last, callMs } = flow.home.memory;
    const entry = { event, atMs: this.#nowMs + flow.home.offsetMs, last, callMs };
    if (this.#mode.bounds.steps > 0 || event === "begin") flow.trace.push(entry);
    else if (event.startsWith("told"))
      flow.trace = this.#mode.consistency === "leased" ? [...flow.trace, { event }] : [{ event }];
    else if (this.#mode.consistency === "leased" && event !== "sleep") flow.trace.push({ event });
    return entry;
  }

  /** Every flow waits at an operation of this world. */
  async #settled(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
  }

  #mayPass(): boolean {
    if (this.#sleeps.some(({ wakesAtMs }) => wakesAtMs <= this.#nowMs)) return false;
    return !this.#messages.some((one) => one.flow && one.request && !one.isLate && one.budgetEndsAtMs <= this.#nowMs);
  }

  /** The instants after now at which anything changes. */
  #instants(): number[] {
    const all: number[] = [];
    for (const { wakesAtMs } of this.#sleeps) all.push(wakesAtMs);
    for (const { flow, isLate, request, budgetEndsAtMs } of this.#messages) {
      if (flow && request && !isLate) all.push(budgetEndsAtMs);
    }
    for (const { memory, offsetMs } of this.#homes) {
      for (const { mayRefuse, receivedAtMs, leases } of memory.records.values()) {
        if (mayRefuse) all.push(receivedAtMs - offsetMs + TRUSTED_MS);
        for (const { pausedUntilMs } of leases ?? []) all.push(pausedUntilMs - offsetMs);
      }
    }
    const endMs = (Math.floor(this.#nowMs / WINDOW_MS) + 1) * WINDOW_MS;
    for (const nearMs of NEAR_END_MS) all.push(endMs - WINDOW_MS + nearMs, endMs + nearMs);
    return all.filter((atMs) => atMs > this.#nowMs);
  }

  #pass(): void {
    const nextMs = Math.min(...this.#instants());
    this.#say(`${nextMs - this.#nowMs} ms pass`);
    this.#nowMs = nextMs;
  }

  /** What the store would say at an instant. */
  #look(request: TakeRequest["keys"][number], atMs: number): TakeReply {
    const copy = createCounts(10);
    copy.write(KEY, this.#counts.read(KEY));
    return copy.take({ keys: [request], flag: Flag.look }, atMs);
  }

  /** The units of the present bucket at the store. */
  #charged(): number {
    const [record] = (this.#counts.read(KEY) ?? []) as readonly { kind: number; newest: number; count: number }[];
    if (record?.kind !== Kind.fixedWindow) return 0;
    return record.newest === Math.floor(this.#nowMs / WINDOW_MS) ? record.count : 0;
  }

  #messageForm({ words, state, isLate, reply, request, budgetEndsAtMs }: Message, forms: Forms): string {
    const budget = isLate || !request ? "" : forms.instant(budgetEndsAtMs);
    const at = request?.atMs ? forms.instant(request.atMs) : "";
    const told = reply ? `${forms.plain(reply)} ${this.#ledger.stepOf(reply.keys[0])}` : "";
    return `${words} ${at} ${state} ${isLate} ${budget} ${told} ${request?.keys[0]?.limits[0]?.limit}`;
  }

  #memories(): Memory[] {
    return this.#homes.map(({ memory }) => memory);
  }

  #named(name: string | number | undefined): Home {
    return this.#homes.find((home) => home.name === name)!;
  }

  #say(line: string): void {
    this.story.push(`${String(this.#nowMs - START_MS).padStart(5)} ms  ${line}`);
  }

  #fail(what: string | undefined): void {
    if (what) this.broken ??= what;
  }
}

function wordsOf(request: TakeRequest | undefined): string {
  if (!request) return "the reset";
  const [key] = request.keys;
  const flag = key!.flag ?? request.flag;
  const what = ["a take", "a charge whatever the limit", "a return", "a look"][flag];
  return `${what} of ${key!.cost}`;
}
