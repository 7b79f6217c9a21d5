/**
 * The CPU time of an isolate's first answer by the number of policies. The first request reads the
 * configuration, and a free plan allows a request 10 ms of CPU time (2026-11).
 */

import { figure, type Part, type Target, table, turnsOf } from "../support/part.ts";
import { median } from "../support/stats.ts";
import { bundleWorker, startWorkerd } from "../support/workerd.ts";

const COUNTS = [1, 20, 100];
const MOST_OF_ONE = 2.5;
/** So many policies fit into the 5 KB that Cloudflare allows for one variable. */
const IN_ONE_VARIABLE = 20;

/** Pairs of a policy by token and one by address on the same paths: which policies guard a policy must be found out. */
function bindings(count: number): Record<string, unknown> {
  const policies = Array.from({ length: count }, (_, n) => ({
    name: `p${n}`,
    match: { path: `/v1/service-${n - (n % 2)}/*` },
    key: n % 2 === 0 ? ["ip"] : ["bearer", "ip"],
    limits: [{ limit: 1_000_000, window: "1m" }],
  }));
  const parts = Array.from({ length: Math.ceil(count / IN_ONE_VARIABLE) }, (_, i) =>
    policies.slice(IN_ONE_VARIABLE * i, IN_ONE_VARIABLE * (i + 1)),
  );
  return Object.fromEntries(parts.map((part, i) => [i === 0 ? "POLICIES" : `POLICIES_${i + 1}`, part]));
}

export const first: Part = async ({ quick, progress }) => {
  const rounds = quick ? 5 : 20;
  const code = await bundleWorker("gateway.mjs");
  const cases = COUNTS.map((count) => ({ count, bindings: bindings(count), cpuMs: [] as number[] }));
  for (let round = 0; round < rounds; round++) {
    progress(`start ${round + 1} of ${rounds}`);
    for (const i of turnsOf(cases.length, round)) {
      const { bindings, cpuMs } = cases[i]!;
      const workerd = await startWorkerd(code, bindings);
      cpuMs.push(workerd.firstAnswerCpuMs ?? Number.NaN);
      await workerd.stop();
    }
  }
  const ofOne = median(cases[0]!.cpuMs);
  const rows = cases.map(({ count, cpuMs }) => {
    const ms = median(cpuMs);
    return ["prefixes", figure(count, "count"), figure(ms), figure(ms / ofOne)];
  });
  const most = cases.at(-1)!;
  const ratio = median(most.cpuMs) / ofOne;
  const target: Target = {
    what: `CPU time of the first answer, ${most.count} policies, prefixes / 1 policy`,
    bound: `≤ ${MOST_OF_ONE}`,
    measured: [figure(ratio)],
    holds: ratio <= MOST_OF_ONE,
  };
  const head = ["paths", "policies", "first answer, ms of CPU", "/ 1 policy"];
  return { blocks: [table(head, rows)], targets: [target], charts: {}, figures: {} };
};
