/** The end of an execution: everything that has begun must end, and nothing may be held for ever. */

import type { Decision } from "../../../src/kernel/core/decision.ts";
import { type Cell, slotsIn } from "./cells.ts";
import { leaseWish } from "./lease-choices.ts";
import { WINDOW_MS } from "./modes.ts";
import type { Choice, Home } from "./parts.ts";
import { beginRequest } from "./request.ts";
import { memoriesAt } from "./scene.ts";
import { instantsOf, mayPass, pass, settled } from "./time.ts";
import { bookTold } from "./told-checks.ts";
import type { World } from "./world.ts";

/** Lets everything end that has begun, with answers to all calls. Then nothing may be held any more. */
export async function end(world: World): Promise<void> {
  const { scene } = world;
  scene.isEnding = true;
  // Leased units end with their window. A day is too long for that: the demand ends.
  if (scene.windowMs > WINDOW_MS) leaseWish.units = 0;
  for (const flow of scene.flows) flow.isForgotten = flow.held !== undefined && !flow.isOver;
  await letEnd(world);
  if (scene.broken) return;
  for (const home of scene.homes) for (const cell of scene.cells) await tell(world, home, cell);
  if (scene.broken) return;
  for (const home of scene.homes) for (const cell of scene.cells) await repay(world, home, cell);
  if (scene.broken) return;
  await releaseLater(world);
  if (scene.broken) return;
  for (const { ledger, place } of scene.cells) {
    const stock = ledger.presentStock(memoriesAt(scene, place), scene.nowMs);
    // After a step back of its clock an isolate returns units only beside a later request.
    if (scene.windowMs > WINDOW_MS && scene.homes.some(({ offsetMs, clockMs }) => offsetMs !== clockMs)) continue;
    if (stock > 0) return scene.fail(`${stock} leased units are never returned`);
  }
  scene.nowMs += 3 * scene.windowMs + 15_000;
  scene.say("all windows end");
  for (const home of scene.homes) {
    for (const cell of scene.cells) {
      scene.nowMs += 2 * scene.windowMs;
      const told = await askAtLast(world, home, cell, cell.limit);
      if (scene.broken) return;
      if (!told.decision?.allowed) return scene.fail("a full limit is refused although all windows have ended");
    }
  }
}

/** Everything that has begun ends. */
async function letEnd(world: World): Promise<void> {
  const { scene } = world;
  scene.flows = scene.flows.filter((flow) => !flow.isTold || scene.isBusy(flow));
  for (let steps = 0; scene.flows.length > 0 || scene.messages.length > 0; steps++) {
    if (steps > 400) return scene.fail("something goes on for ever after the last request");
    const next = firstOf(world, ["arrive", "reply", "late", "never", "wake"]);
    const [flow] = scene.flows;
    if (next) await world.apply(next);
    else if (flow && instantsOf(scene).length > 0 && mayPass(scene)) pass(scene);
    else return scene.fail(`${flow?.home.name}: ${flow?.name} waits for nothing, for ever`);
    if (scene.broken) return;
  }
}

/** What a call could not tell is told after the next request. */
async function tell(world: World, home: Home, cell: Cell): Promise<void> {
  const { scene } = world;
  const { told } = home.accounts[cell.index]!;
  if (!told || scene.broken) return;
  const owes = () => told.owes(scene.nowMs + home.offsetMs);
  if (owes()) {
    scene.nowMs += 2 * cell.rules.syncMs! + home.clockMs - home.offsetMs;
    await askAtLast(world, home, cell, 1);
    await letEnd(world);
  }
  if (owes()) scene.fail("what an isolate has admitted is never told");
}

/** The next request that the store answers releases what could not be released. */
async function releaseLater(world: World): Promise<void> {
  const { scene } = world;
  for (const cell of scene.cells) {
    if (!cell.slots) continue;
    for (const home of scene.homes) await askAtLast(world, home, cell, 1);
    scene.fail(cell.slots.check(scene, slotsIn(cell), true));
    for (const { places } of scene.homes) {
      if (places.some(({ memory }) => memory.giveBacks.length > 0)) scene.fail("a slot is never released");
    }
  }
}

/** The next request that the store answers repays what is owed, and one more what is owed of another period. */
async function repay(world: World, home: Home, cell: Cell): Promise<void> {
  const { scene } = world;
  const account = home.accounts[cell.index]!;
  const isOld = scene.nowMs - account.owesSinceMs > scene.windowMs / 2;
  if (scene.broken || account.owed === account.repaid || isOld || home.offsetMs !== home.clockMs) return;
  const isRepaid = () => account.repaid >= Math.min(account.owed, cell.limit);
  let { decision } = await askAtLast(world, home, cell, 1);
  if (cell.rules.algorithm === "calendar" && !isRepaid()) ({ decision } = await askAtLast(world, home, cell, 1));
  if (decision?.source === "redis" && !isRepaid()) scene.fail("what the isolate owes is never repaid");
}

async function askAtLast(world: World, home: Home, cell: Cell, cost: number): Promise<{ decision?: Decision }> {
  const { scene } = world;
  leaseWish.units = 0;
  // An isolate that is not alone with a key has a whole unit only by chance.
  scene.chance = 0.999;
  const told = beginRequest(scene, home, cost, [cell]);
  await settled();
  bookTold(scene);
  for (let steps = 0; steps < 60 && (!told.decision || scene.messages.length > 0) && !scene.broken; steps++) {
    const next = firstOf(world, ["arrive", "reply", "late", "wake"]);
    if (next) await world.apply(next);
    else pass(scene);
  }
  return told;
}

function firstOf(world: World, names: readonly string[]): Choice | undefined {
  return world.choices().find(([name]) => names.includes(name));
}
