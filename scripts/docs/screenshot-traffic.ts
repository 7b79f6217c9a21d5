/** The clients in the pictures of the console: real requests, at a steady pace, from two continents. */

import type { LocalGateway, Sent } from "../dev/local-gateway.ts";

interface Client extends Sent {
  readonly path: string;
  readonly perSecond: number;
}

const EU = { continent: "EU" };
const NA = { continent: "NA" };

function clients({ greedy, blocked }: Named): Client[] {
  const many = (count: number, make: (i: number) => Client) => Array.from({ length: count }, (_, i) => make(i));
  const login = { path: "/login", method: "POST" };
  return [
    ...many(12, (i) => ({ ...EU, address: `192.0.2.${10 + i}`, path: `/v1/items/${i}`, perSecond: 1.5 })),
    ...many(8, (i) => ({ ...NA, address: `192.0.2.${100 + i}`, path: `/v1/items/${i}`, perSecond: 1.2 })),
    { ...EU, address: greedy, path: "/v1/search", perSecond: 8 },
    { ...EU, address: blocked, path: "/v1/catalogue", perSecond: 0.5 },
    ...many(10, (i) => ({ ...EU, ...login, address: `192.0.2.${200 + i}`, perSecond: 0.04 })),
    ...many(3, (i) => ({ ...NA, ...login, address: `198.51.100.${20 + i}`, perSecond: 0.3 * (i + 1) })),
  ];
}

interface Named {
  readonly greedy: string;
  readonly blocked: string;
}

/** Sends until it is stopped. */
export function sendTraffic(gateway: LocalGateway, named: Named): { stop(): Promise<void> } {
  const open = new Set<Promise<unknown>>();
  const timers = clients(named).map(({ path, perSecond, ...sent }) =>
    setInterval(() => {
      const work = gateway.send(path, sent).then((answer) => answer.body?.cancel());
      open.add(work);
      void work.finally(() => open.delete(work));
    }, 1_000 / perSecond),
  );
  return {
    async stop() {
      for (const timer of timers) clearInterval(timer);
      await Promise.all(open);
    },
  };
}
