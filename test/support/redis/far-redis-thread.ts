// The thread of far-redis.ts: the REST service of a Redis, and a wire in front of it that holds everything back.

import { connect, createServer, type Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import { createBridge } from "../../../scripts/bridge/bridge.ts";
import type { FarRedisOptions } from "./far-redis.ts";

const bridge = await createBridge(workerData as FarRedisOptions);
let oneWayMs = 0;
parentPort!.on("message", (ms: number) => {
  oneWayMs = ms;
});

/** Passes on what one side sends, as late as the wire makes it. */
function passOn(from: Socket, to: Socket): void {
  from.setNoDelay(true);
  from.on("data", (chunk) => void setTimeout(() => to.writable && to.write(chunk), oneWayMs));
  from.on("error", () => to.destroy());
  from.on("close", () => to.destroy());
}

const wire = createServer((caller) => {
  const service = connect(bridge.port, "127.0.0.1");
  passOn(caller, service);
  passOn(service, caller);
});
wire.listen(0, "127.0.0.1", () => parentPort!.postMessage(wire.address()));
