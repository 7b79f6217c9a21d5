// The gateway that `npm run faults` and `npm run soak` start: it answers, and its log reaches the script.

import { expect, it } from "vitest";
import { startLocalGateway } from "../../scripts/dev/local-gateway.ts";

it("serves the Worker with the bindings that it is given, and passes its log on", async () => {
  const lines: string[] = [];
  const policies = [{ name: "short", limits: [{ limit: 1, window: "1m" }] }];
  const gateway = await startLocalGateway(
    { POLICIES: policies, REGION: "here" },
    {
      onLog: (line) => lines.push(line),
    },
  );
  try {
    const send = async () => (await fetch(gateway.url, { headers: { "CF-Connecting-IP": "192.0.2.1" } })).status;
    expect([await send(), await send()]).toEqual([200, 429]);
    const refusals = () => lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
    await expect
      .poll(refusals, { timeout: 10_000 })
      .toContainEqual(expect.objectContaining({ event: "refused", region: "here", violated: ["short"] }));
  } finally {
    await gateway.stop();
  }
});
