/** The top of bench/results/benchmarks.md: five sentences and two charts, from the medians of what the parts kept. */

import { isSharedPeer } from "./latency-report.ts";
import { WORKERS } from "./limiters.ts";
import type { Section } from "./part.ts";
import { number } from "./show.ts";
import { median } from "./stats.ts";

/** The charts at the top. Their parts do not show them again. */
export const TOP_CHARTS: readonly string[] = ["latency.svg", "redis-cpu.svg"];

/** @param parts the repetitions of each part. The sentence of a part that never ran is left out. */
export function summaryOf(parts: ReadonlyMap<string, readonly Section[]>): string {
  const all = (part: string, name: string) => parts.get(part)!.map(({ figures }) => figures[name]!);
  const of = (part: string, name: string) => median(all(part, name));
  const show = (part: string, name: string) => number(of(part, name));
  const shared = WORKERS.slice(1)
    .filter(isSharedPeer)
    .map(({ id }) => id);
  const perThousand = (id: string) => 1000 * of("latency", `hammered calls ${id}`);
  const calls = (...ids: string[]) => {
    const [least, most] = [Math.min(...ids.map(perThousand)), Math.max(...ids.map(perThousand))].map(number);
    if (Number(most) === 0) return "none";
    return least === most ? most : `${least} to ${most}`;
  };
  const waits = (id: string) =>
    `${show("latency", `p50 ${id} minute`)} ms (p99: ${show("latency", `p99 ${id} minute`)} ms)`;
  const upstash = "@upstash/ratelimit";

  const sentences: readonly (readonly [parts: readonly string[], sentence: () => string])[] = [
    [
      ["latency"],
      () => {
        const [fastest] = shared.toSorted(
          (a, b) => of("latency", `p50 ${a} minute`) - of("latency", `p50 ${b} minute`),
        );
        return `**Waiting.** With Redis 80 ms away, \`leased\` adds ${waits("leased")} to the median request, \`strict\` ${waits("strict")}, the fastest peer with a shared count ${waits(fastest!)}.`;
      },
    ],
    [
      ["redis"],
      () =>
        `**Redis.** Over 1, 3 and 8 sliding-window limits a decision takes ${[1, 3, 8].map((count) => show("redis", `ratio, ${count}`)).join(", ")} times the Redis CPU of \`${upstash}\`.`,
    ],
    [
      ["latency"],
      () =>
        `**Calls.** Calls to Redis for 1,000 requests of a refused client: ${calls("strict", "leased")} from headgate, ${calls("upstash")} from \`${upstash}\` with its cache, and ${calls(...shared.filter((id) => id !== "upstash"))} from each other peer with a shared count.`,
    ],
    [
      ["truth"],
      () =>
        `**Truth.** In the worst true window the default admits ${show("truth", "worst headgate sliding-window")} times its limit, \`sliding-log\` ${show("truth", "worst headgate sliding-log")} times, the sliding window of \`${upstash}\` ${show("truth", "worst upstash slidingWindow, cache")} times with its cache and ${show("truth", "worst upstash slidingWindow, no cache")} times without, and hono-rate-limiter ${show("truth", "worst hono-rate-limiter")} times.`,
    ],
    [
      ["size", "latency"],
      () =>
        `**The price.** The gateway adds ${show("size", "added KiB headgate (the whole gateway)")} KiB (gzip) and ${show("size", "added ms headgate (the whole gateway)")} ms until the first answer to a Worker (\`${upstash}\` ${show("size", `added KiB ${upstash}`)} KiB and ${show("size", `added ms ${upstash}`)} ms), and serves ${show("latency", "served in front, headgate, leased: admitted")} times the admitted requests per second of a Worker that only forwards.`,
    ],
  ];
  return sentences
    .filter(([needed]) => needed.every((part) => parts.has(part)))
    .map(([, sentence]) => `- ${sentence()}`)
    .join("\n");
}
