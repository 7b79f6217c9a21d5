/**
 * A decision over TCP beside the client's own EVALSHA of the same script with the same arguments, in one program, in
 * CPU time; and what the decision adds, layer by layer, over a client that answers at once.
 */

import { Redis } from "ioredis";
import { createClient } from "redis";
import { startRedisServer } from "../../scripts/machine/redis-server.ts";
import { leases } from "../../src/features/leases/index.ts";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import { recordIdOf } from "../../src/kernel/core/records.ts";
import { ENFORCED, Flag, type TakeRequest } from "../../src/kernel/core/take.ts";
import type { WindowLimit } from "../../src/kernel/core/window.ts";
import { withBreaker } from "../../src/kernel/place/breaker.ts";
import { createIsolate } from "../../src/kernel/place/isolate.ts";
import { commandClient } from "../../src/kernel/store/redis/command.ts";
import { TAKE, TAKE_KEY_LOCKING } from "../../src/kernel/store/redis/script.generated.ts";
import { scriptRunner } from "../../src/kernel/store/redis/script.ts";
import { encodeRequest, type RedisCommand, redisPlace } from "../../src/kernel/store/redis.ts";
import { createLimiter } from "../../src/limiter.ts";
import { redisStore } from "../../src/stores/redis-store.ts";
import { figure, type Part, type Table, table, turnsOf } from "../support/part.ts";
import { median } from "../support/stats.ts";

const CLIENTS = 1_000;
const MANY = 1_000_000_000;
const WINDOW_MS = 3_600_000;
/** So long that a busy machine causes no fallback decision. */
const OPTIONS = { keySecret: "a secret for benchmarks", timeoutMs: 10_000 };
const LIMIT: WindowLimit = { kind: Kind.weighted, limit: MANY, bucketMs: WINDOW_MS, buckets: 1 };
/** How many requests are in flight. */
const AT_ONCE = [1, 50];

/** Answers the n-th request. */
type Ask = (n: number) => Promise<unknown>;
interface Case {
  readonly title: string;
  readonly ask: Ask;
}

const requestOf = (n: number): TakeRequest => {
  const key = `hg:2:{site:${String(n % CLIENTS).padStart(22, "k")}}`;
  return { keys: [{ key, group: ENFORCED, cost: 1, limits: [LIMIT] }], flag: Flag.take };
};

/** EVALSHA as a program would send it by itself, its arguments ready. */
function bare(command: RedisCommand): Ask {
  const ready = Array.from({ length: CLIENTS }, (_, n): [string, ...string[]] => {
    const request = requestOf(n);
    return ["EVALSHA", TAKE.sha1, "1", request.keys[0]!.key, ...encodeRequest(request, 0).map(String)];
  });
  return (n) => command(ready[n % CLIENTS]!, ready[n % CLIENTS]![3]!);
}

/** Every ask is of a limiter of its own: none knows what another one has learned. */
function decisions(command: RedisCommand): Record<"known" | "new" | "refused" | "leased", Ask> {
  const of = (limit: number, more: object = {}) => {
    const policies = [{ name: "site", limits: [{ limit, window: "1h" as const }], ...more }];
    const store = redisStore({ command, ...OPTIONS, onBreakerChange() {} });
    const limiter = createLimiter({ policies, features: [leases()], store });
    return async (key: string) => {
      const { source } = await limiter.take("site", { key, background: { waitUntil() {} } });
      if (source === "fallback") throw new Error("expected decisions of Redis, found a fallback");
    };
  };
  const [known, fresh, full, leased] = [of(MANY), of(MANY), of(1), of(MANY, { consistency: "leased" })];
  let last = 0;
  return {
    known: (n) => known(String(n % CLIENTS)),
    new: () => fresh(`new-${last++}`),
    refused: () => full("one"),
    leased: () => leased("one"),
  };
}

/** µs of CPU for each of so many asks. */
async function cost(ask: Ask, times: number, atOnce: number): Promise<number> {
  const before = process.cpuUsage();
  for (let n = 0; n < times; n += atOnce) {
    if (atOnce === 1) await ask(n);
    else await Promise.all(Array.from({ length: atOnce }, (_, i) => ask(n + i)));
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
}

/** The costs of each case in each turn. The cases take turns, in another order in each. */
async function measure(cases: readonly Case[], { turns, warmUp, times }: Turns, atOnce: number): Promise<number[][]> {
  const us = cases.map((): number[] => []);
  for (let turn = -warmUp; turn < turns; turn++) {
    for (const i of turnsOf(cases.length, turn + warmUp)) {
      const one = await cost(cases[i]!.ask, times, atOnce);
      if (turn >= 0) us[i]!.push(one);
    }
  }
  return us;
}

interface Turns {
  readonly turns: number;
  readonly warmUp: number;
  readonly times: number;
}

/** A decision on top of each layer below it, over a client that answers at once. */
function layers(): Case[] {
  const id = recordIdOf(LIMIT);
  const command: RedisCommand = async () => [Date.now(), id, Math.floor(Date.now() / WINDOW_MS), 1, 0];
  const run = scriptRunner(commandClient({ command, ...OPTIONS }), { plain: TAKE, keyLocking: TAKE_KEY_LOCKING });
  const args = encodeRequest(requestOf(0), 0);
  const place = redisPlace({ command, ...OPTIONS });
  const { strict } = createIsolate(withBreaker(place, OPTIONS));
  const lines = (n: number) => requestOf(n).keys.map((request) => ({ request, onFailure: "deny" as const }));
  const { known, new: fresh } = decisions(command);
  return [
    { title: "", ask: bare(command) },
    { title: "the arguments as texts, the time budget", ask: (n) => run([requestOf(n).keys[0]!.key], args) },
    { title: "the numbers of the arguments, reading the reply", ask: (n) => place.take(requestOf(n)) },
    {
      title: "the breaker, and what the isolate notes",
      ask: (n) => strict.take({ lines: lines(n), flag: Flag.take, slot: 0 }, {}),
    },
    { title: "the remembered hash of the key, the decision", ask: known },
    { title: "the hash of a new key", ask: fresh },
  ];
}

export const tcp: Part = async ({ quick, progress }) => {
  const turns: Turns = quick ? { turns: 5, warmUp: 2, times: 500 } : { turns: 20, warmUp: 8, times: 1_000 };
  const server = await startRedisServer();
  const io = new Redis(server.url, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    lazyConnect: true,
  });
  const node = createClient({ url: server.url, disableOfflineQueue: true });
  try {
    await Promise.all([io.connect(), node.connect()]);
    const clients: readonly (readonly [string, RedisCommand])[] = [
      ["ioredis", ([name, ...args]) => io.call(name, ...args)],
      ["node-redis", (args) => node.sendCommand(args)],
    ];
    await clients[0]![1](["SCRIPT", "LOAD", TAKE.text], "");
    const rows: Table["rows"][number][] = [];
    for (const [name, command] of clients) {
      for (const atOnce of AT_ONCE) {
        progress(`${name}, ${atOnce} at once`);
        const { known, new: fresh, refused, leased } = decisions(command);
        const titled = {
          "EVALSHA alone": bare(command),
          "a decision": known,
          "of a new client": fresh,
          leased,
          refused,
        };
        const cases = Object.entries(titled).map(([title, ask]): Case => ({ title, ask }));
        const us = await measure(cases, turns, atOnce);
        const ratios = us.map((one) => figure(median(one.map((value, i) => value / us[0]![i]!))));
        rows.push([name, figure(atOnce, "count"), figure(median(us[0]!)), ...ratios.slice(1)]);
      }
    }
    progress("layers");
    const cases = layers();
    const us = await measure(cases, { ...turns, times: 5 * turns.times }, 1);
    const added = cases.slice(1).map(({ title }, i) => {
      return [title, figure(median(us[i + 1]!.map((value, turn) => value - us[i]![turn]!)))];
    });
    const head = [
      "client",
      "at once",
      "its `EVALSHA`, µs",
      "a decision",
      "of a new client",
      "from a lease",
      "refused from memory",
    ];
    return {
      blocks: [
        table(head, rows),
        "What a decision adds, over a client that answers at once:",
        table(["layer", "µs of CPU"], added),
      ],
      targets: [],
      charts: {},
      figures: {},
    };
  } finally {
    io.disconnect();
    node.destroy();
    await server.stop();
  }
};
