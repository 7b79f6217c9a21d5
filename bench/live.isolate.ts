/** An isolate that reads one live document, for bench/live.ts: how long that takes at first. */

import { parentPort, workerData } from "node:worker_threads";
import type { Policy } from "../src/core/policy.ts";
import { readLive } from "../src/limiter/live/document.ts";
import { viewOf } from "../src/limiter/live/view.ts";

const { text, policies } = workerData as { text: string; policies: readonly Policy[] };
const beganMs = performance.now();
const document = readLive(text)!;
const readMs = performance.now();
viewOf(1, document, policies, "");
parentPort!.postMessage([readMs - beganMs, performance.now() - readMs]);
