// Redis dies under load: what a sliding log still promises, in one isolate and in several isolates.

import { expect, it } from "vitest";
import { startFaultyGateway } from "../../support/faults/fault-story.ts";
import { mostAdmittedWithin, type Sample, steadyLoad } from "../../support/faults/steady-load.ts";
import { uniqueName } from "../../support/gateway/gateway.ts";

const LIMIT = 20;
const WINDOW_MS = 1_000;
const OUTAGE_MS = 2_500;
const PER_SECOND = 60;

it.each([1, 2])("%i isolates admit at most that many times the limit in any window", async (regions) => {
  const limits = [{ algorithm: "sliding-log", limit: LIMIT, window: `${WINDOW_MS}ms` }];
  const policies = [{ name: uniqueName("outage"), key: ["global"], limits }];
  const { rig, gateways } = await startFaultyGateway(policies, 1_000, regions);
  const load = (ms: number) => {
    const perSecond = PER_SECOND * regions;
    const urls = gateways.map(({ url }) => url);
    return steadyLoad({ urls, requests: (ms * perSecond) / 1000, perSecond, ask: () => ({ path: "/" }) });
  };
  // When Redis dies, more than half of the limit is used, but not all of it: a refusal would be remembered without
  // Redis.
  const before = await load(0.25 * WINDOW_MS);
  expect(mostAdmittedWithin(before, WINDOW_MS)).toBeLessThanOrEqual(LIMIT);

  await rig.begin("restarted-empty");
  const during = await load(OUTAGE_MS);

  expect(new Set(during.map(({ status }) => status))).toEqual(new Set([200, 429]));
  const of = (samples: readonly Sample[], region: number) => samples.filter(({ n }) => n % regions === region);
  for (let region = 0; region < regions; region++) {
    expect(mostAdmittedWithin(of(during, region), WINDOW_MS)).toBeLessThanOrEqual(LIMIT);
  }
  expect(mostAdmittedWithin(during, WINDOW_MS)).toBeLessThanOrEqual(LIMIT * regions);
  // A single isolate knows everything that Redis had admitted before the outage.
  if (regions === 1) expect(mostAdmittedWithin([...before, ...during], WINDOW_MS)).toBeLessThanOrEqual(LIMIT);
  // Each isolate admits again when the units that Redis had reported leave the window.
  expect(during.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(LIMIT * regions);
});
