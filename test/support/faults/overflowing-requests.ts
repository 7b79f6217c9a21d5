// Requests whose plan, team and credits pay for them, all at once through three gateways, while calls to the counts and
// their answers get lost. In the end the counts are compared with what the origin was told. It imports nothing of
// vitest: scripts/stress/chains.ts uses it too.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Agent, request as ask } from "undici";
import { mulberry32 } from "../mulberry32.ts";
import { type ChainedPlaces, type PlacesKind, startChainedPlaces } from "./chained-places.ts";
import { drawRequests, keyOf, LINKS, LOOK, limitsFor, policiesOf, type Sent, USERS } from "./chained-requests.ts";
import { compareCharges, type Told } from "./charged-links.ts";
import { BACKLOG } from "./counted-calls.ts";

interface Options {
  readonly requests: number;
  readonly seed: number;
  /** The time budget of a call, in ms: longer than a call takes while all requests are open. */
  readonly budgetMs: number;
  /** The part of the calls that meet a fault. */
  readonly rate: number;
}

/** How long breakers may stay open, and units that are given back after the answer may take, in ms. */
const PATIENCE_MS = 60_000;
/** Requests that follow the first ones, all at once too: this part of them, at most so often. */
const [WAVE_PART, MOST_WAVES] = [0.2, 20];

/**
 * Sends all requests at once. Then sends some more, until each link has paid and a chain has refused: breakers have
 * kept others from the counts. Compares in the end.
 */
export async function sendOverflowing(kind: PlacesKind, { requests, seed, budgetMs, rate }: Options): Promise<Told> {
  const limits = limitsFor(requests);
  const paidBy = new Map<number, string>();
  const twice: number[] = [];
  const origin = createServer(({ headers }, response) => {
    response.writeHead(200, { Connection: "close" }).end();
    // A look has no number.
    if (headers["x-n"] === undefined) return;
    const n = Number(headers["x-n"]);
    if (paidBy.has(n)) twice.push(n);
    paidBy.set(n, String(headers["headgate-paid-by"]));
  });
  await new Promise<void>((resolve) => origin.listen(0, "127.0.0.1", BACKLOG, resolve));
  const originUrl = `http://127.0.0.1:${(origin.address() as AddressInfo).port}`;
  const places = await startChainedPlaces(kind, { policies: policiesOf(limits), originUrl, seed, budgetMs });
  try {
    const next = drawRequests(mulberry32(seed));
    const sent: Sent[] = [];
    const agent = new Agent({ pipelining: 0, headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 60_000 } });
    const isOver = () => {
      return LINKS.every((name) => [...paidBy.values()].includes(name)) && sent.some(({ status }) => status === 429);
    };
    for (let wave = 0; wave <= MOST_WAVES && !isOver(); wave++) {
      await places.setRate(0);
      await Promise.all(places.gateways.map((gateway) => closeBreakers(gateway, places)));
      await places.setRate(rate);
      const size = wave === 0 ? requests : Math.ceil(requests * WAVE_PART);
      const from = sent.length;
      for (let n = from; n < from + size; n++) sent.push(next());
      await sendAtOnce(places, sent, from, agent, wave === 0);
    }
    await agent.close();
    await places.setRate(0);
    const deadlineMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const told = await compareCharges(places, sent, paidBy, limits);
      const wrong = [...told.wrong, ...twice.map((n) => `request ${n}: the origin got it twice`)];
      if (!isOver()) wrong.push("not every link has paid, or no chain has refused");
      if (wrong.length === 0 || performance.now() > deadlineMs) return { ...told, wrong };
      // In real time: late calls and give-backs arrive by the sockets of other processes.
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  } finally {
    await places.stop();
    origin.closeAllConnections();
    origin.close();
  }
}

/** Resolves when the gateway calls every place. A breaker that is open lets a probe through about once a second. */
async function closeBreakers(gateway: URL, places: ChainedPlaces): Promise<void> {
  const probed = new Set<number>();
  for (let user = 0; user < USERS; user++) {
    const one = { user: `user-${user}`, team: "" };
    const place = places.placeOf(await keyOf("plan", one));
    if (probed.has(place)) continue;
    probed.add(place);
    const deadlineMs = performance.now() + PATIENCE_MS;
    for (let isClosed = false; !isClosed; ) {
      if (performance.now() > deadlineMs) throw new Error(`a gateway does not ask place ${place} any more`);
      const answer = await ask(new URL(LOOK, gateway), { headers: { "x-user": one.user } });
      await answer.body.dump();
      isClosed = answer.statusCode !== 503;
      // In real time: the breaker's clock is that of workerd.
      if (!isClosed) await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** Sends all from this one on. @param isInterrupted whether a place is interrupted meanwhile. */
async function sendAtOnce(
  places: ChainedPlaces,
  all: readonly Sent[],
  from: number,
  agent: Agent,
  isInterrupted: boolean,
): Promise<void> {
  let open = all.length - from;
  const interruptsAt = open / 2;
  let interrupted: Promise<void> | undefined;
  const send = async (n: number) => {
    const { path, user, team } = all[n]!;
    all[n]!.sentAtMs = Date.now();
    const answer = await ask(new URL(path, places.gateways[n % places.gateways.length]), {
      dispatcher: agent,
      headers: { "x-n": String(n), "x-user": user, "x-team": team },
    });
    await answer.body.dump();
    Object.assign(all[n]!, { status: answer.statusCode, answeredAtMs: Date.now() });
    if (--open < interruptsAt && isInterrupted) interrupted ??= places.interrupt();
  };
  await Promise.all(all.slice(from).map((_, i) => send(from + i)));
  await interrupted;
}
