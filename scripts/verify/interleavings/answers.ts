/** What an isolate answers to a decider about one place, and whether a refusal from memory is one that is promised. */

import { ENFORCED, type KeyRequest, type LimitReply } from "../../../src/kernel/core/take.ts";
import type { FixedWindowRecord } from "../../../src/kernel/core/window.ts";
import { nowBy } from "../../../src/kernel/place/store-clock.ts";
import type { PartReply } from "../../../src/kernel/place/taker.ts";
import { admitsAt, type Cell } from "./cells.ts";
import type { Basis, FlowPlace, HomePlace } from "./parts.ts";
import type { Scene } from "./scene.ts";

/** @param kept of the flow whose decider is answered. */
export function noteAnswer(
  scene: Scene,
  at: HomePlace,
  kept: FlowPlace,
  keys: readonly KeyRequest[],
  answer: PartReply,
): void {
  const { source, reply } = answer;
  const { nowMs, trustedMs } = scene;
  const localMs = nowMs + at.home.offsetMs;
  const { earliestMs = 0, latestMs } = nowBy(at.memory.clock, localMs, trustedMs);
  kept.answer = answer;
  kept.bases = new Map(
    keys.map((key, k): [string, Basis] => {
      const cell = scene.cell(at.index, key.key);
      const { ledger } = cell;
      const known = knownAbout(at, kept, key.key, source);
      const step = known && ledger.stepIn(known.replies);
      const isRefused = key.group === ENFORCED && isRefusedIn(reply.keys[k]!);
      if (key.once && isRefused && kept.heard?.reply.allowed !== false && cell.ids!.isFree(key.once.id, nowMs)) {
        scene.fail(`a repeat of id ${key.once.id} is refused without the store`);
      }
      if (
        source === "cache" &&
        !cell.slots &&
        isRefused &&
        known &&
        step !== undefined &&
        !at.isStepped &&
        !scene.isEnding
      ) {
        const isOld = localMs - (known.receivedAtMs ?? localMs) >= trustedMs;
        if (step < at.home.accounts[cell.index]!.resetAt) {
          scene.fail("refused from memory by counts from before the reset");
        } else if (admitsAt(cell, key, nowMs)) {
          if (!ledger.hasComeBackSince(step)) {
            scene.fail("refused from memory, and the store would have admitted: no unit came back meanwhile");
          }
          if (isOld) scene.fail("refused from memory by a reply that is too old");
        }
      }
      const isAdmitted = reply.allowed && !isRefusedIn(reply.keys[k]!);
      if (source === "shared" && isAdmitted) admittedShared(scene, at, cell, key.cost, reply.nowMs);
      const sinceMs = source === "redis" ? (known?.storeAtMs ?? 0) : nowMs - (latestMs - earliestMs);
      return [key.key, { step, sinceMs, isRefused }];
    }),
  );
}

/** An isolate has admitted by its part of the counts. @param estimateMs what it takes for the store's time. */
function admittedShared(scene: Scene, at: HomePlace, cell: Cell, units: number, estimateMs: number): void {
  const { ledger, index, key, limit } = cell;
  const { home, memory } = at;
  const bucket = ledger.bucketOf(estimateMs);
  const known = memory.records.get(key);
  const [reply] = known && known.call > 0 ? known.replies : [];
  const { newest = 0, count = 0 } = (reply?.view ?? {}) as Partial<FixedWindowRecord>;
  const counted = newest === bucket ? count : 0;
  const step = (known && ledger.stepIn(known.replies)) ?? 0;
  const localMs = scene.nowMs + home.offsetMs;
  scene.fail(home.accounts[index]!.told!.admitted({ units, localMs, bucket, counted, step }, limit));
  if (!scene.isEnding) ledger.admitAlone(units, scene.nowMs, estimateMs);
}

/** Whether limits refuse by themselves. */
export function isRefusedIn(replies: readonly LimitReply[]): boolean {
  return replies.some(({ refused }) => refused);
}

/** The reply about a key by which an isolate has answered: its own, or what it remembers. */
function knownAbout({ memory }: HomePlace, { heard }: FlowPlace, key: string, source: string) {
  if (source === "redis" && heard?.reply.allowed === false) {
    const k = heard.request.keys.findIndex((one) => one.key === key);
    if (k >= 0) return { replies: heard.reply.keys[k]!, receivedAtMs: undefined, storeAtMs: heard.reply.nowMs };
  }
  const record = memory.records.get(key);
  return record && record.call > 0 ? record : undefined;
}
