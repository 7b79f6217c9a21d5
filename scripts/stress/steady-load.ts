/** Sends requests at a steady rate, whether answers come or not, and records each answer. */

import { Agent, request } from "undici";

export interface Sample {
  /** The number of the request. */
  readonly n: number;
  /** In ms, by `performance.now()`. */
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
  /** The HTTP status. 0: no HTTP answer. */
  readonly status: number;
  /** The remaining units from `X-RateLimit-Remaining`. Absent without that field: no store has counted the request. */
  readonly remaining?: number;
}

export interface Asked {
  readonly path: string;
  /** The client's address. Default 192.0.2.1. */
  readonly address?: string;
}

interface Load {
  /** Base URLs that get the requests in turn. */
  readonly urls: readonly URL[];
  readonly requests: number;
  readonly perSecond: number;
  /** The most open requests; further requests wait. Default: no bound. */
  readonly atOnce?: number;
  /** The path and address of the n-th request. */
  ask(n: number): Asked;
}

const TICK_MS = 5;
/** Longer than any answer may take. */
const GIVE_UP_MS = 60_000;

/** Resolves when all requests have been answered. */
export async function steadyLoad({ urls, requests, perSecond, atOnce = Infinity, ask }: Load): Promise<Sample[]> {
  const agent = new Agent({ connections: 512, headersTimeout: GIVE_UP_MS });
  const samples: Sample[] = [];
  const under: Promise<void>[] = [];
  const startMs = performance.now();
  for (let n = 0; n < requests; ) {
    const due = Math.min(requests, Math.ceil(((performance.now() - startMs) * perSecond) / 1000));
    for (; n < due && n - samples.length < atOnce; n++) {
      const sent = send(agent, urls[n % urls.length]!, ask(n), n);
      under.push(sent.then((sample) => void samples.push(sample)));
    }
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  await Promise.all(under);
  await agent.close();
  return samples;
}

async function send(agent: Agent, url: URL, { path, address = "192.0.2.1" }: Asked, n: number): Promise<Sample> {
  const sentAtMs = performance.now();
  const headers = { "CF-Connecting-IP": address };
  try {
    const answer = await request(new URL(path, url), { dispatcher: agent, headers });
    await answer.body.dump();
    const remaining = answer.headers["x-ratelimit-remaining"];
    const known = remaining === undefined ? {} : { remaining: Number(remaining) };
    return { n, sentAtMs, receivedAtMs: performance.now(), status: answer.statusCode, ...known };
  } catch {
    return { n, sentAtMs, receivedAtMs: performance.now(), status: 0 };
  }
}

/** The time within which this percentage of the requests was answered, in ms. */
export function percentile(samples: readonly Sample[], percent: number): number {
  const sorted = samples.map(({ sentAtMs, receivedAtMs }) => receivedAtMs - sentAtMs).sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil((sorted.length * percent) / 100) - 1)] ?? 0;
}

/** The number of answers by status. */
export function statusCounts(samples: readonly Sample[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of samples.toSorted((a, b) => a.status - b.status)) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** The most answers with status 200 that lie completely within any span of `windowMs`. */
export function mostAdmittedWithin(samples: readonly Sample[], windowMs: number): number {
  const admitted = samples.filter(({ status }) => status === 200).toSorted((a, b) => a.sentAtMs - b.sentAtMs);
  let most = 0;
  for (const [i, { sentAtMs }] of admitted.entries()) {
    let within = 0;
    for (let j = i; j < admitted.length && admitted[j]!.sentAtMs < sentAtMs + windowMs; j++) {
      if (admitted[j]!.receivedAtMs < sentAtMs + windowMs) within++;
    }
    most = Math.max(most, within);
  }
  return most;
}
