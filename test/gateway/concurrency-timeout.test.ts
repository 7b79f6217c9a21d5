// A slot's timeout. A long body keeps its slot for longer; a lost gateway does not.

import { describe, expect, it } from "vitest";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startHeldOrigin } from "../support/gateway/held-origin.ts";
import { commandLine, descendants } from "../support/gateway/processes.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";
import { atATime, watchSlots } from "../support/redis/slots.ts";

const TIMEOUT_MS = 1_000;

describe("a timeout of one second", () => {
  it("does not end the slot of a body that flows longer: it is renewed, until the body has ended", async () => {
    const origin = await startHeldOrigin();
    const name = uniqueName("renewed");
    const { redis, rest, calls } = await startPrivateRedis();
    const slots = watchSlots(name, redis);
    const policies = [{ name, key: ["global"], limits: [atATime(1, "1s")] }];
    const gateway = await startGateway({ policies, vars: { ORIGIN_URL: origin.url }, redis: rest });

    const answer = await gateway.fetch("/");
    const [lostAtMs] = await slots.lostAtMs();
    await slots.clockReaches(lostAtMs! + TIMEOUT_MS);

    expect(await slots.held()).toBe(1);
    expect((await gateway.fetch("/")).status).toBe(429);
    origin.end();
    expect(await answer.text()).toBe("firstlast");
    await slots.free();

    // In the time of two more renewals nothing is called: there is no slot to renew.
    const before = [...calls];
    await slots.clockReaches((await slots.nowMs()) + TIMEOUT_MS);
    expect(calls).toEqual(before);
  });

  it.skipIf(process.platform !== "linux")("frees the slots of a gateway that was killed", async () => {
    const origin = await startHeldOrigin();
    const name = uniqueName("killed");
    const slots = watchSlots(name);
    const policies = [{ name, key: ["global"], limits: [atATime(5, "1s")] }];
    const start = async () => {
      const others = workerds();
      const gateway = await startGateway({ policies, vars: { ORIGIN_URL: origin.url } });
      return { gateway, pids: workerds().filter((pid) => !others.includes(pid)) };
    };
    const first = await start();
    const second = await start();
    const answers = await Promise.all(Array.from({ length: 5 }, () => first.gateway.fetch("/")));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);

    expect(first.pids).toHaveLength(1);
    process.kill(first.pids[0]!, "SIGKILL");
    for (const answer of answers) await expect(answer.text()).rejects.toThrow();
    // Nobody gives these slots back. They stay until their timeout, and no longer.
    await slots.clockReaches(Math.max(0, ...(await slots.lostAtMs())));
    await slots.free();

    const again = await Promise.all(Array.from({ length: 6 }, () => second.gateway.fetch("/")));
    expect(again.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 429]);
    origin.end();
    for (const answer of again) await answer.text();
  });
});

/** The workerd processes that this process started. */
function workerds(): number[] {
  return descendants(process.pid).filter((pid) => /\bworkerd\b/.test(commandLine(pid)));
}
