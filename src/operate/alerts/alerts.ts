/** What an isolate of the gateway does with warnings: it hands them on to the object that delivers them. */

import { type Crossing, findWarnings } from "../../features/alerts/warnings.ts";
import type { OnDecision } from "../../kernel/limiter/on-decision.ts";
import { createHandOn } from "../stats/hand-on.ts";
import type { Stats } from "../stats/object/door.ts";
import { MAX_WAITING, type WarningBatch } from "./batch.ts";

/** How long an isolate collects warnings, in ms: it calls the object at most once a second. */
const FLUSH_MS = 1_000;

export function createAlerts({ warn: send }: Pick<Stats, "warn">): OnDecision {
  let waiting: Crossing[] = [];
  let leftOut = 0;
  const handOn = createHandOn<WarningBatch>({
    collected: {
      isEmpty: () => waiting.length === 0 && leftOut === 0,
      take() {
        const batch = { warnings: waiting, leftOut };
        waiting = [];
        leftOut = 0;
        return batch;
      },
    },
    flushMs: FLUSH_MS,
    unsent: { event: "warnings-unsent" },
    refused: { event: "warnings-refused" },
    send,
  });
  return findWarnings({
    tell(crossing, background) {
      waiting.push(crossing);
      if (waiting.length > MAX_WAITING) {
        waiting.shift();
        leftOut++;
      }
      handOn(background);
    },
    leaveOut(background) {
      leftOut++;
      handOn(background);
    },
  });
}
