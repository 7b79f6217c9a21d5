/**
 * What an admitted request does until it ends: it renews its slots and releases them, or it extends its reservation and
 * settles it. A request that does nothing more has forgotten what it holds.
 */

import { holdOf } from "../../../src/features/slots/part.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import { type Answered, answeredOf } from "../../../src/kernel/limiter/decide.ts";
import { createReservation } from "../../../src/kernel/limiter/reservation.ts";
import type { Background } from "../../../src/kernel/place/taker.ts";
import type { Cell } from "./cells.ts";
import { bookSettlement } from "./charged.ts";
import { goOn } from "./home.ts";
import type { Choice, Flow } from "./parts.ts";
import type { Scene } from "./scene.ts";

/** Units by which a reservation is extended. */
const EXTENDED_BY = 1;

/** @param booked notes what an extension has charged. */
export function beginHolding(
  scene: Scene,
  flow: Flow,
  cells: readonly Cell[],
  answered: Answered,
  background: Background,
  booked: (more: Answered, cost: number) => void,
): void {
  const hold = holdOf(answered.taken ?? [], background);
  const begun = { settlesWith: undefined, acting: [] };
  if (!scene.mode.reserves) {
    if (hold) flow.held = { ...begun, renew: hold.renew, release: hold.release };
    return;
  }
  const reservation = createReservation({
    names: cells.map(({ key }) => key),
    answered,
    background,
    async ask(keys) {
      const asked = { lines: keys, flag: Flag.take, slot: 0 };
      const more = answeredOf(keys, Flag.take, await flow.home.takers.strict.take(asked, { background }));
      booked(more, EXTENDED_BY);
      // A settlement waits for extensions.
      const { settlesWith } = flow.held!;
      if (settlesWith !== undefined) bookSettlement(scene, flow, settlesWith);
      return more;
    },
  });
  const units = (each: number) => Object.fromEntries(cells.flatMap(({ slots, key }) => (slots ? [] : [[key, each]])));
  flow.held = {
    ...begun,
    renew: hold?.renew,
    extend: () => reservation.extend(units(EXTENDED_BY)),
    settle: (used) => reservation.settle(units(used)),
  };
}

/** What the admitted requests may do now. */
export function actChoices({ flows, mode, left }: Scene): Choice[] {
  return flows.flatMap(({ id, held, isOver }) => {
    if (!held || isOver) return [];
    return mode.acts.flatMap((act): Choice[] => {
      const verb = verbOf(act);
      if (!held[verb] || (goesOn(verb) && left.goOn === 0)) return [];
      // A reservation may be settled during an extension. A release waits for a renewal.
      const mayBegin = held.acting.length === 0 || (verb === "settle" && !held.acting.includes("renew"));
      return mayBegin ? [["act", id, act]] : [];
    });
  });
}

export function act(scene: Scene, flow: Flow, name: string): void {
  const held = flow.held!;
  const verb = verbOf(name);
  const used = Number(name.split(" ")[1]);
  scene.say(`${flow.home.name}: ${flow.name} does: ${name}`);
  scene.note(flow, name, scene.seenBy(flow));
  if (goesOn(verb)) scene.left.goOn--;
  else flow.isOver = true;
  if (verb === "renew") for (const { slots } of scene.cells) slots?.renewed(flow, scene.nowMs);
  if (verb === "settle") {
    held.settlesWith = used;
    if (held.acting.length === 0) bookSettlement(scene, flow, used);
  }
  held.acting.push(name);
  goOn(scene, flow, async () => {
    await held[verb]!(used);
    held.acting.splice(held.acting.indexOf(name), 1);
    flow.trace = flow.trace.filter(({ event }) => event !== name);
    if (flow.isOver && held.acting.length === 0) flow.held = undefined;
  });
}

type Verb = "renew" | "release" | "extend" | "settle";

function verbOf(act: string): Verb {
  return act.split(" ")[0] as Verb;
}

function goesOn(verb: Verb): boolean {
  return verb === "renew" || verb === "extend";
}
