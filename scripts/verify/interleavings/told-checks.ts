/** When the accounts of what was told (told.ts) are filled and checked. */

import { nowBy } from "../../../src/kernel/place/store-clock.ts";
import type { Scene } from "./scene.ts";

/** A step has ended. */
export function bookTold(scene: Scene): void {
  for (const { accounts, places, offsetMs } of scene.homes) {
    for (const { index, place, ledger } of scene.cells) {
      const localMs = scene.nowMs + offsetMs;
      const estimateMs = nowBy(places[place]!.memory.clock, localMs, 0).earliestMs ?? localMs;
      scene.fail(accounts[index]!.told?.booked(ledger.bucketOf(estimateMs)));
    }
  }
}

/** What must be true in any state. */
export function checkTold(scene: Scene): void {
  const { homes, cells, left, mode } = scene;
  // If the runtime has ended a request with its timer, the next request tells.
  const isUndisturbed = left.ended === mode.bounds.ended;
  for (const home of homes) {
    const localMs = scene.nowMs + home.offsetMs;
    const isAwake = [...scene.sleeps, ...scene.messages].some(({ flow }) => flow?.home === home);
    for (const { place, key, index } of cells) {
      const { told } = home.accounts[index]!;
      if (!told) continue;
      const { memory } = home.places[place]!;
      scene.fail(told.check(memory.records.get(key)?.own, localMs));
      if (isUndisturbed && !isAwake && told.owes(localMs)) scene.fail("no timer will tell what the isolate owes");
    }
  }
}
