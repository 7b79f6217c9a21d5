/**
 * The CPU time of an isolate's first answer by the number of policies. The first request reads the
 * configuration, and a free plan allows a request 10 ms of CPU time (2026-11).
 */

import { figure, type Part, type Target, table, turnsOf } from "../support/part.ts";
import { median } from "../support/stats.ts";
import { bundleWorker, startWorkerd } from "../support/workerd.ts";

const COUNTS = [1, 20, 100];
/** The paths of a policy, by what they are. `n` is the policy's number. */
const PATHS: Readonly<Record<string, (n: number) => string>> = {
  prefixes: (n) => `/v1/service-${n}/*`,
  "regular expressions": (n) => `/v1/service-${n}/:id([a-f\\d]{8}(?:-[a-f\\d]{4}){3}-[a-f\\d]{12})/:rest(a|b|c)`,
};
const MOST_OF_ONE = 2.5;
/** So many policies fit into the 5 KB that Cloudflare allows for one variable. */
const IN_ONE_VARIABLE = 20;

/** Pairs of a policy by token and one by address on the same paths: which policies guard a policy must be found out. */
function bindings(count: number, pathOf: (n: number) => string): Record<string, unknown> {
  const policies = Array.from({ length: count }, (_, n) => ({
    name: `p${n}`,
    match: { path: pathOf(n - (n % 2)) },
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
  const cases = Object.entries(PATHS).flatMap(([what, pathOf]) =>
    COUNTS.map((count) => ({ what, count, bindings: bindings(count, pathOf), cpuMs: [] as number[] })),
  );
  for (let round = 0; round < rounds; round++) {
    progress(`start ${round + 1} of ${rounds}`);
    for (const i of turnsOf(cases.length, round)) {
      const { bindings, cpuMs } = cases[i]!;
      const workerd = await startWorkerd(code, bindings);
      cpuMs.push(workerd.firstAnswerCpuMs ?? Number.NaN);
      await workerd.stop();
    }
  }
  const ofOne = (what: string) => median(cases.find((one) => one.what === what && one.count === 1)!.cpuMs);
  const measured = cases.map(({ what, count, cpuMs }) => ({
    ...{ what, count, ms: median(cpuMs) },
    ratio: median(cpuMs) / ofOne(what),
  }));
  const targets = measured
    .filter(({ count }) => count === COUNTS.at(-1))
    .map(
      ({ what, count, ratio }): Target => ({
        what: `CPU time of the first answer, ${count} policies, ${what} / 1 policy`,
        bound: `≤ ${MOST_OF_ONE}`,
        measured: [figure(ratio)],
        holds: ratio <= MOST_OF_ONE,
      }),
    );
  const head = ["paths", "policies", "first answer, ms of CPU", "/ 1 policy"];
  const rows = measured.map(({ what, count, ms, ratio }) => [what, figure(count, "count"), figure(ms), figure(ratio)]);
  return { blocks: [table(head, rows)], targets, charts: {}, figures: {} };
};
