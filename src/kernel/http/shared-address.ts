/** Warns of counted addresses that stand for many clients: those of proxies, of Cloudflare, and of Workers. */

import { addressTest } from "../request/address-range.ts";
import type { ClientKey } from "../request/hash.ts";
import type { RequestHead } from "../request/request-head.ts";
import { ADDRESSES } from "../request/sources.ts";

/** Whose the addresses are, in words. Cloudflare's are those of www.cloudflare.com/ips (2026-11). */
const WHOSE: readonly { readonly whose: string; readonly ranges: readonly string[] }[] = [
  { whose: "the loopback", ranges: ["127.0.0.0/8", "::/127"] },
  {
    whose: "a private network",
    ranges: [
      "10.0.0.0/8",
      "100.64.0.0/10",
      "169.254.0.0/16",
      "172.16.0.0/12",
      "192.168.0.0/16",
      "fc00::/7",
      "fe80::/10",
    ],
  },
  { whose: "Cloudflare's Workers, which all have this one", ranges: ["2a06:98c0:3600::/48"] },
  {
    whose: "Cloudflare's network",
    ranges: [
      ...["103.21.244.0/22", "103.22.200.0/22", "103.31.4.0/22", "104.16.0.0/13", "104.24.0.0/14", "108.162.192.0/18"],
      ...["131.0.72.0/22", "141.101.64.0/18", "162.158.0.0/15", "172.64.0.0/13", "173.245.48.0/20", "188.114.96.0/20"],
      ...["190.93.240.0/20", "197.234.240.0/22", "198.41.128.0/17", "2400:cb00::/32", "2405:8100::/32"],
      ...["2405:b500::/32", "2606:4700::/32", "2803:f800::/32", "2a06:98c0::/29", "2c0f:f248::/32"],
    ],
  },
];

/** How many requests are looked at: behind a forgotten proxy, the first ones already have such an address. */
const LOOKS = 10_000;
const LOCAL = /^https?:\/\/(?:localhost|127\.|\[::1\])/;

/** @returns a function that looks at who is counted, and writes one line for each kind of such addresses. */
export function createAddressNotes(): (request: RequestHead, key: ClientKey) => void {
  const isShared = addressTest(WHOSE.flatMap(({ ranges }) => ranges));
  const noted = new Set<string>();
  let looks = 0;

  return (request, { kind, values }) => {
    if (looks >= LOOKS) return;
    looks++;
    let address: string | undefined;
    for (const [i, part] of kind.split("+").entries()) {
      // A network is counted with its prefix.
      if (ADDRESSES.includes(part)) address = values[i]?.split("/", 1)[0];
    }
    // Whoever asks a server of this machine has such an address.
    if (address === undefined || !isShared(address) || LOCAL.test(request.url)) return;
    const { whose } = WHOSE.find(({ ranges }) => addressTest(ranges)(address))!;
    if (noted.has(whose)) return;
    noted.add(whose);
    const mend = "name the header that says who the client is (clientIp), or count by another key";
    const note = `a client is counted by an address of ${whose}: all clients behind it share one count: ${mend}`;
    console.warn(JSON.stringify({ event: "note", note }));
  };
}
