/**
 * What all parts of one execution share: the places with their cells, the isolates, the messages between them, what
 * runs, and the one clock. Nothing happens by itself.
 */

import type { KeyRequest } from "../../../src/kernel/core/take.ts";
import { type Counts, createCounts } from "../../../src/kernel/store/memory.ts";
import { type Cell, newCells } from "./cells.ts";
import { type Bounds, CALENDAR, type Mode, WINDOW_MS } from "./modes.ts";
import type { Flow, Home, HomePlace, Message, Sleep } from "./parts.ts";

/** Shortly before the end of a bucket, and of a day of `CALENDAR`. */
const START_MS = 1_800_000_000_000 - 100;

/** A refusal from memory is trusted for so long: a part of 5 s, and of 1 s if there are several places. */
export const TRUSTED_PART = 0.06;
const TRUSTED_MS = 300;
const TRUSTED_IN_PARTS_MS = 60;

export class Scene {
  readonly mode: Mode;
  readonly story: string[] = [];
  broken: string | undefined;
  nowMs = START_MS;
  readonly left: { -readonly [K in keyof Bounds]: number };
  /** For how long a reply may refuse other requests. */
  readonly trustedMs: number;
  /** The counts of each place. */
  readonly places: readonly Counts[];
  readonly cells: readonly Cell[];
  homes: Home[] = [];
  messages: Message[] = [];
  sleeps: Sleep[] = [];
  flows: Flow[] = [];
  /** What is booked when the isolates have done what follows from the present choice. */
  readonly later: (() => void)[] = [];
  /** What an isolate gets as a random number, until the next choice. */
  chance = 0.5;
  /** Nothing new begins any more, and nothing is checked but what must be true in the end. */
  isEnding = false;
  #ids = 0;
  #slots = 0;
  /** The longest window or period of a limit. */
  readonly windowMs: number;
  readonly #isLeased: boolean;

  constructor(mode: Mode) {
    this.mode = mode;
    this.left = { ...mode.bounds };
    const count = 1 + Math.max(...mode.policies.map(({ place }) => place));
    this.trustedMs = count > 1 ? TRUSTED_IN_PARTS_MS : TRUSTED_MS;
    this.places = Array.from({ length: count }, () => createCounts(20_000));
    this.cells = newCells(mode, this.places);
    const hasPeriods = mode.policies.some(({ algorithm }) => algorithm === "calendar");
    this.windowMs = hasPeriods ? CALENDAR.periodMs : WINDOW_MS;
    this.#isLeased = mode.policies.some(({ consistency }) => consistency === "leased");
  }

  nextId(): number {
    return ++this.#ids;
  }

  nextSlot(): number {
    return ++this.#slots;
  }

  /** The cell of a key at a place. */
  cell(place: number, key: string): Cell {
    return this.cells.find((one) => one.place === place && one.key === key)!;
  }

  /** The cells that a message is about, each with what is asked of it. A reset is about all cells of its place. */
  askedCells({
    at,
    request,
  }: Pick<Message, "at" | "request">): { cell: Cell; key: KeyRequest | undefined; k: number }[] {
    if (request) return request.keys.map((key, k) => ({ cell: this.cell(at.index, key.key), key, k }));
    return this.cells.filter(({ place }) => place === at.index).map((cell, k) => ({ cell, key: undefined, k }));
  }

  begin(
    home: Home,
    name: string,
    work: (flow: Flow) => Promise<void>,
    run: (flow: Flow, go: () => void) => void,
  ): void {
    const flow: Flow = {
      id: this.nextId(),
      home,
      name,
      trace: [],
      isTold: false,
      isAdmitted: false,
      onceId: 0,
      alone: [],
      resetAt: this.cells.map(() => 0),
      places: this.places.map(() => [{}]),
      slot: 0,
      charged: [],
      held: undefined,
      isOver: false,
      isForgotten: false,
      isReset: false,
    };
    this.flows.push(flow);
    this.note(flow, "begin");
    run(flow, () => {
      work(flow).catch((error: unknown) => this.fail(`a request was rejected: ${String(error)}`));
    });
  }

  isBusy(flow: Flow): boolean {
    if (flow.held && !(this.isEnding && flow.held.acting.length === 0)) return true;
    return this.messages.some((one) => one.flow === flow) || this.sleeps.some((one) => one.flow === flow);
  }

  /**
   * A flow keeps numbers and instants of its begin until it has told its answer, and after that only the answer. What
   * it keeps of a call or sleep is noted there. A leased take counts its calls too. After a step of a clock the return
   * of units compares instants of any await: with steps everything is kept.
   *
   * @param kept what the flow keeps of the event beside its name.
   */
  note(flow: Flow, event: string, kept?: object): object {
    const entry = { event, ...this.seenBy(flow) };
    const known = { event, ...kept };
    if (this.mode.bounds.steps > 0 || event === "begin") flow.trace.push({ ...entry, ...kept });
    else if (event.startsWith("told")) flow.trace = this.#isLeased ? [...flow.trace, known] : [known];
    else if (kept || (this.#isLeased && event !== "sleep")) flow.trace.push(known);
    return entry;
  }

  /** The numbers and instants that a flow may keep of this instant. */
  seenBy({ home }: Flow): object {
    const seen = home.places.map(({ memory: { last, callMs } }) => ({ last, callMs }));
    return { atMs: this.nowMs + home.offsetMs, seen };
  }

  say(line: string): void {
    this.story.push(`${String(this.nowMs - START_MS).padStart(5)} ms  ${line}`);
  }

  fail(what: string | undefined): void {
    if (what) this.broken ??= what;
  }
}

/** What an isolate keeps of each place. */
export function memoriesAt(scene: Scene, place: number, but?: HomePlace): HomePlace["memory"][] {
  return scene.homes
    .map(({ places }) => places[place]!)
    .filter((one) => one !== but)
    .map(({ memory }) => memory);
}
