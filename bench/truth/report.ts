/** The tables of the part `truth`, and its targets. */

import { type Block, figure, type Section, type Target, type Text, table } from "../support/part.ts";
import type { Result } from "./judge.ts";
import { RETRY, type Trace } from "./traces.ts";

/**
 * The names in bench/peers/limiters.mjs. They are repeated here, so that no peer is loaded before the peers are
 * installed.
 */
export const PEERS = [
  "headgate sliding-window",
  "headgate leased",
  "headgate 10 buckets, whole",
  "headgate sliding-log",
  "headgate fixed-window",
  "upstash slidingWindow, cache",
  "upstash slidingWindow, no cache",
  "upstash fixedWindow, cache",
  "upstash cachedFixedWindow",
  "hono-rate-limiter",
  "rate-limiter-flexible",
  "rate-limiter-flexible, block",
  "INCR + EXPIRE",
  "sorted-set log",
  "hash of sub-buckets",
] as const;

/** A limiter without Redis, simulated by Miniflare. */
export const BINDING = "rate limit binding";

export type Retries = Map<string, { early: number; late: number; promised: boolean }>;

export function report(
  peers: readonly string[],
  traces: readonly Trace[],
  results: ReadonlyMap<string, ReadonlyMap<string, Result>>,
  retries: Retries | undefined,
): Section {
  const percent = (part: number) => figure(part, "percent");
  const windows = traces.filter(({ isCharged }) => !isCharged);
  const charges = traces.filter(({ isCharged }) => isCharged);
  const of = (trace: Trace, peer: string) => results.get(trace.name)!.get(peer);
  const blocks: Block[] = [
    table(
      ["trace", ""],
      [...traces, ...(retries ? [RETRY] : [])].map(({ name, about }) => [`\`${name}\``, about]),
    ),
  ];
  if (windows.length > 0) {
    const names = windows.map(({ name }) => `\`${name}\``);
    const rows = (value: (result: Result) => Text) =>
      peers.map((peer) => [peer, ...windows.map((trace) => value(of(trace, peer)!))]);
    blocks.push(
      "### Admitted in the worst true window / limit",
      table(
        ["", ...names],
        rows(({ worst }) => ({ ...figure(worst), boldAbove: 1.005 })),
      ),
      "### Refused although the true window had room, part of all requests",
      table(
        ["", ...names],
        rows(({ unused }) => percent(unused)),
      ),
    );
  }
  if (charges.length > 0) {
    const counted = peers.filter((peer) => peer !== BINDING);
    const rows = counted.map((peer) => [
      peer,
      ...charges.map((trace) => {
        const { overcharged, failed } = of(trace, peer)!;
        return [figure(overcharged!, "signed"), failed > 0 ? ` (${failed} errors)` : ""];
      }),
    ]);
    blocks.push(
      "### Units charged beyond those admitted",
      table(["", ...charges.map(({ name }) => `\`${name}\``)], rows),
    );
  }
  if (retries) {
    const rows = peers.map((peer) => {
      const { early, late, promised } = retries.get(peer) ?? { early: 0, late: 0, promised: false };
      return promised ? [peer, percent(early), percent(late)] : [peer, "no wait told", "–"];
    });
    blocks.push(
      "### The promised wait\n\nOf the clients that waited as told: how many were refused again, and how much of the wait was needless.",
      table(["", "refused again", "needless"], rows),
    );
  }

  const targets: Target[] = [];
  for (const trace of windows.filter(({ name }) => ["hammer", "bursty"].includes(name))) {
    if (!PEERS.every((peer) => peers.includes(peer))) break;
    const cached = percent(of(trace, "upstash slidingWindow, cache")!.wrong);
    for (const [mode, peer] of [
      ["strict", PEERS[0]],
      ["leased", PEERS[1]],
    ] as const) {
      const { wrong } = of(trace, peer)!;
      targets.push({
        what: `\`${trace.name}\`, \`${mode}\`: refused although the counter would admit`,
        bound: "none",
        measured: [percent(wrong), " (cache of `@upstash/ratelimit`: ", cached, ")"],
        holds: wrong === 0,
      });
    }
  }
  const boundary = windows.find(({ name }) => name === "boundary");
  const charts = boundary
    ? {
        "boundary.svg": {
          title: "Admitted in the worst window / limit, bursts around a window's end",
          unit: "×",
          mark: 1,
          rows: peers.map((name) => ({ name, value: of(boundary, name)!.worst })),
        },
      }
    : ({} as Section["charts"]);
  const figures = Object.fromEntries(
    peers.map((peer) => [`worst ${peer}`, Math.max(0, ...windows.map((trace) => of(trace, peer)!.worst))]),
  );
  return { blocks, targets, charts, figures };
}
