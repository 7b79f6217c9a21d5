// The real clients of four providers through two gateways over one Redis that fails twice: what is counted in the end
// is what the providers bill, but for calls of which nobody knows whether they ran.

import { expect, it, onTestFinished } from "vitest";
import { partitionHasher } from "../../src/kernel/request/hash.ts";
import { partOf } from "../support/cases/draws.ts";
import { FAULTS, type Fault, startFaultRig } from "../support/faults/fault-rig.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { atOnce, clientsOf } from "../support/llm/clients.ts";
import { billedUnits, PRICES } from "../support/llm/dollars.ts";
import { drawnAsk } from "../support/llm/drawn-ask.ts";
import { unitsIn } from "../support/llm/metered-gateway.ts";
import { type MockExchange, startMockProvider } from "../support/llm/mock-provider.ts";
import { mockPlan } from "../support/llm/plan.ts";
import { mulberry32 } from "../support/mulberry32.ts";

/** Of both outages. Less with DRAWS. */
const REQUESTS = partOf(2_000);
const TEAMS = 20;
const KEY_SECRET = "the same in both gateways";
/** Redis refuses: docs/failure-modes.md promises that all of it is counted afterwards. */
const REFUSING = (Object.keys(FAULTS) as Fault[]).filter((fault) => FAULTS[fault] === "is-refused");
/** The gateway cannot know what has become of a call. None of these depends on how busy the machine is. */
const LOSING = ["refused", "reset", "reset-after", "lost-reply", "status-500", "truncated", "not-json"] as const;
const PATIENCE = { timeout: 60_000, interval: 200 };

const NAME = uniqueName("bill");
const [BY_TEAM, BY_REQUEST] = [`${NAME}-team`, `${NAME}-request`];
const policyOf = (name: string, header: string) => ({
  ...{ name, match: { method: "POST" }, key: [`header:${header}`] },
  meter: { unit: "usd", prices: PRICES },
  limits: [{ algorithm: "fixed-window", limit: 10_000, window: "31d" }],
});
const hash = partitionHasher(KEY_SECRET, "");
const keyOf = (policy: string, header: string, value: string) =>
  `hg:2:{${policy}:${hash({ kind: `header:${header}`, values: [value] })}}`;

it("counts the dollars of every request and team, through two outages", async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
  const next = mulberry32(seed);
  const one = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!;
  const [rig, provider] = await Promise.all([startFaultRig(), startMockProvider()]);
  onTestFinished(() => rig.close());
  onTestFinished(() => provider.close());
  const policies = [policyOf(BY_TEAM, "x-team"), policyOf(BY_REQUEST, "x-request")];
  const vars = { ORIGIN_URL: provider.url, KEY_SECRET };
  const start = () => startGateway({ redis: rig.rest, policies, vars });
  const gateways = await Promise.all([start(), start()]);
  const clients = gateways.map(({ url }) => clientsOf(url.href));

  let sent = 0;
  let tokens = 0;
  async function ask(client = one(clients)): Promise<void> {
    const headers = { "x-request": `request-${sent++}`, "x-team": `team-${Math.floor(next() * TEAMS)}` };
    const read = await client.ask({ ...drawnAsk(next), headers });
    tokens += read.input + read.output;
  }

  /** What Redis counts beyond the bill of each request for which the two differ. */
  async function differences() {
    const counted = await unitsIn(rig.redis, BY_REQUEST);
    return provider.exchanges.flatMap((exchange) => {
      if (!exchange.usage) return [];
      const units = counted.get(keyOf(BY_REQUEST, "x-request", exchange.headers["x-request"] as string))?.[0] ?? 0;
      const beyond = units - billedUnits(exchange);
      return beyond === 0 ? [] : [{ exchange, units, beyond }];
    });
  }

  /** Half of all requests, and an outage in the middle of them. @returns how many calls have met the fault. */
  async function sendDuring(fault: Fault): Promise<number> {
    const half = Math.ceil(REQUESTS / 2);
    let met = 0;
    await atOnce(half, 20, async (i) => {
      if (i === Math.floor(half / 4)) await rig.begin(fault);
      if (i === Math.floor(half / 2)) {
        met = rig.proxy.met;
        await rig.end();
      }
      await ask();
    });
    return met;
  }

  /** Until Redis has counted what it can know. The next calls to it bring what is owed. */
  async function settled(most: number): Promise<void> {
    const differing = async () => {
      await Promise.all(clients.map((client) => ask(client)));
      return (await differences()).slice(most).map(
        ({ exchange: { format, url, answer, plan, usage }, units, beyond }) =>
          `${format} ${url}: ${units} counted, ${units - beyond} billed, ${JSON.stringify({ answer: { ...answer, parts: answer!.parts.length }, usage, plan })}`,
      );
    };
    await expect.poll(differing, PATIENCE).toEqual([]);
  }

  /** What the same request reserves. */
  async function reservedBy({ url, body, headers }: MockExchange): Promise<number> {
    const again = `again-${headers["x-request"]}`;
    const fields = { "content-type": "application/json", "x-team": "again", "x-request": again };
    const plan = mockPlan({ status: 500, holdAfter: 0 });
    const init = { method: "POST", headers: { ...fields, ...plan }, body: new Uint8Array(body) };
    const before = provider.exchanges.length;
    const answered = gateways[0]!.fetch(url, init);
    await expect.poll(() => provider.exchanges.length, PATIENCE).toBe(before + 1);
    const counted = await unitsIn(rig.redis, BY_REQUEST);
    provider.resume();
    await (await answered).text();
    return counted.get(keyOf(BY_REQUEST, "x-request", again))![0]!;
  }

  const [refusing, losing] = [one(REFUSING), one(LOSING)];
  console.log(`seed ${seed}: ${refusing}, then ${losing}`);
  await sendDuring(refusing);
  await settled(0);

  const unknown = await sendDuring(losing);
  await settled(unknown);
  const mayStayUncounted = await differences();
  const outcomes = { uncounted: 0, held: 0 };
  for (const { exchange, units } of mayStayUncounted) {
    if (units === 0) outcomes.uncounted++;
    else {
      outcomes.held++;
      expect(units).toBe(await reservedBy(exchange));
    }
  }

  // Both sides have read the same, and the teams have paid what their requests have.
  const told = provider.told();
  expect(tokens).toBe(told.inputTokens + told.outputTokens);
  const [expected, billed] = [new Map<string, number>(), new Map<string, number>()];
  const add = (sums: Map<string, number>, { headers }: MockExchange, units: number) => {
    const key = keyOf(BY_TEAM, "x-team", headers["x-team"] as string);
    sums.set(key, (sums.get(key) ?? 0) + units);
  };
  for (const exchange of provider.exchanges) if (exchange.usage) add(billed, exchange, billedUnits(exchange));
  for (const [team, units] of billed) expected.set(team, units);
  for (const { exchange, beyond } of mayStayUncounted) add(expected, exchange, beyond);
  const teams = new Map([...(await unitsIn(rig.redis, BY_TEAM))].map(([key, [units = 0]]) => [key, units]));
  teams.delete(keyOf(BY_TEAM, "x-team", "again"));
  expect(teams).toEqual(expected);
  const dollars = (sums: Map<string, number>) => [...sums.values()].reduce((sum, units) => sum + units, 0) / 1e5;
  console.log(`${sent} requests, $${dollars(billed)} billed, $${dollars(teams)} counted, ${JSON.stringify(outcomes)}`);
}, 900_000);
