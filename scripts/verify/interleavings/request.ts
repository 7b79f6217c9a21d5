/** A request of a client, and a reset of an operator: what an isolate does, and what its answer is checked for. */

import { isConcurrency } from "../../../src/kernel/core/concurrency.ts";
import type { Decision } from "../../../src/kernel/core/decision.ts";
import { Flag, keysOfRequest, type LimitReply } from "../../../src/kernel/core/take.ts";
import { type Answered, answeredOf } from "../../../src/kernel/limiter/decide.ts";
import type { Background } from "../../../src/kernel/place/taker.ts";
import { failureOf } from "../../../src/kernel/store/failure.ts";
import { admitsAt, type Cell, policyKeysOf, unitsIn } from "./cells.ts";
import { charge, oweAlone } from "./charged.ts";
import { beginHolding } from "./held.ts";
import { begin } from "./home.ts";
import { leaseWish } from "./lease-choices.ts";
import { voidBooks } from "./network.ts";
import { type Flow, type FlowPlace, type Home, keptOf } from "./parts.ts";
import { type KnownCell, wrongWait } from "./refusal.ts";
import type { Scene } from "./scene.ts";

/** @param id by which it is charged once. 0: it has none. @returns the decision, as soon as it is told. */
export function beginRequest(
  scene: Scene,
  home: Home,
  cost: number,
  cells: readonly Cell[],
  id = 0,
): { decision?: Decision } {
  const keys = policyKeysOf(cells, cost, id);
  const told: { decision?: Decision } = {};
  const wish = leaseWish.units > 0 ? `, and the isolate would like ${leaseWish.units} units ahead` : "";
  const named = id > 0 ? `, id ${id}` : "";
  const about = `${named}${scene.cells.length > 1 ? ` of ${cells.map(({ key }) => key).join(" and ")}` : ""}`;
  scene.say(`${home.name}: a request comes, cost ${cost}${about}${wish}`);
  begin(scene, home, `the request of cost ${cost}${about}`, async (flow) => {
    const background: Background = { waitUntil: (work) => void work.catch(() => {}) };
    // As src/kernel/limiter/run.ts does.
    const consistency = keys.some(({ request }) => request.once) ? "strict" : keys[0]!.policy.consistency;
    flow.onceId = id;
    flow.slot = cells.some(({ slots }) => slots) ? scene.nextSlot() : 0;
    for (const { slots } of cells) slots?.begin(flow.slot, flow);
    const { slot } = flow;
    const asked = { lines: keys, flag: Flag.take, slot };
    const answered = answeredOf(keys, Flag.take, await home.takers[consistency].take(asked, { background }));
    const { decision } = answered;
    flow.isTold = true;
    flow.isAdmitted = decision.allowed;
    told.decision = decision;
    const word = decision.allowed ? "admitted" : `${decision.outcome}, wait ${decision.retryAfterMs ?? "not known"}`;
    scene.say(`${home.name}: ${flow.name} is ${word} (${decision.source})`);
    const { places } = flow;
    book(scene, flow, cells, answered, cost, "told");
    flow.isOver = !decision.allowed;
    flow.isForgotten = scene.isEnding;
    if (scene.isEnding) return;
    if (decision.allowed) {
      const booked = (more: Answered, units: number) => {
        // What did not pay is not extended.
        const charged = cells.filter((cell) => flow.charged.some((one) => one.cell === cell));
        scene.say(`${home.name}: its extension is ${more.decision.outcome} (${more.decision.source})`);
        book(scene, flow, charged, more, units, "extended");
      };
      beginHolding(scene, flow, cells, answered, background, booked);
    }
    const isStepped = cells.some(({ place }) => home.places[place]!.isStepped);
    const { allowed, retryAfterMs, source } = decision;
    if (allowed || retryAfterMs === undefined || isStepped) return;
    // These do not know what the store would say.
    if (source === "fallback" || source === "lease" || source === "shared") return;
    // Nobody can know when a slot is free.
    if (decision.limits.some(({ limit, admitted }) => isConcurrency(limit) && !admitted)) return;
    const known = cells.flatMap((cell, k): KnownCell[] => {
      if (cell.slots) return [];
      // What counts tell of the wait knows no ids.
      const { once: _, ...request } = keys[k]!.request;
      const { step, sinceMs = 0 } = keptOf(places, cell).bases?.get(cell.key) ?? {};
      // Waits beside debts are told by the isolate's own counts, whose clock may be slow.
      const driftMs = home.accounts[cell.index]!.owed > 0 ? 1 : 0;
      // A step of the clock that is shorter than a round trip is not noticed.
      const errorMs = scene.nowMs - sinceMs - (home.offsetMs - home.clockMs) + 1 + driftMs;
      return [{ step, errorMs, ledger: cell.ledger, look: (atMs) => admitsAt(cell, request, atMs) }];
    });
    scene.fail(wrongWait(retryAfterMs, known, scene.nowMs));
  });
  return told;
}

/** Books an answer: what the request and its isolate have charged. @param event `told` or `extended`. */
function book(scene: Scene, flow: Flow, cells: readonly Cell[], answered: Answered, cost: number, event: string): void {
  const { decision, failure, atMs: decidedAtMs } = answered;
  const { allowed, outcome, source, shadow } = decision;
  const { places, home } = flow;
  const kept = cells.filter((cell) => {
    return allowed && !shadow.some(({ policy, admitted }) => policy.name === cell.key && !admitted);
  });
  flow.alone = kept.filter((cell) => keptOf(places, cell).answer === "");
  const alone = flow.alone.length > 0 && { failure, ...scene.seenBy(flow) };
  const holds = scene.mode.acts.length > 0 && allowed;
  const about = `${event} ${outcome} ${source} ${kept.map(({ index }) => index)}`;
  scene.note(flow, about, holds ? { decidedAtMs, ...alone } : {});
  const isLeased = cells.every(({ rules }) => rules.consistency === "leased");
  for (const cell of kept) {
    const { answer, isNotRun } = keptOf(places, cell);
    const { mode, onStoreFailure } = cell.rules;
    const isAlone = flow.alone.includes(cell);
    const replies = source === "redis" ? heardAbout(places, cell) : undefined;
    const isReset = replies !== undefined && cell.ledger.isFromBeforeReset(replies);
    charge(flow, cell, cost, { atMs: isAlone ? scene.nowMs : (decidedAtMs ?? scene.nowMs), isAlone, isReset });
    if (isAlone) {
      if (isNotRun || isLeased) oweAlone(scene, flow, cell);
      cell.slots?.toldAlone(flow, scene.nowMs);
      if (mode !== "shadow" && onStoreFailure === "deny") scene.fail(`admitted without the place of ${cell.key}`);
    }
    if (scene.isEnding) continue;
    const units = unitsIn(cell, cost);
    // ids.ts says what requests with an id have charged. What was admitted alone is neither charged nor owed.
    if (cell.ids && flow.onceId > 0) continue;
    // answers.ts has booked what was admitted under `shared`.
    if (answer && answer.source === "shared") continue;
    if (answer) cell.ledger.admit(units, answer, scene.nowMs, heardAbout(places, cell));
    else cell.ledger.admitAlone(units, scene.nowMs);
  }
  flow.places = home.places.map(() => [{}]);
}

/** What the last reply to a take of this flow says about a cell. undefined: it was not asked about it. */
function heardAbout(places: readonly (readonly FlowPlace[])[], cell: Cell): readonly LimitReply[] | undefined {
  const { heard } = keptOf(places, cell);
  const k = heard?.request.keys.findIndex((one) => one.key === cell.key) ?? -1;
  return heard?.reply.keys[k];
}

export function beginReset(scene: Scene, home: Home): void {
  scene.say(`${home.name}: an operator resets the client`);
  begin(scene, home, "reset", async (flow) => {
    flow.isTold = true;
    for (const place of home.places) voidBooks(scene, place);
    const begun = () => scene.flows.filter((one) => one.home === home);
    for (const one of begun()) one.isReset = true;
    const keys = policyKeysOf(scene.cells, 1).map(({ request }) => request);
    await home.takers.strict.reset(keysOfRequest({ keys, flag: Flag.take })).catch(failureOf);
    for (const one of begun()) one.isReset = true;
  });
}
