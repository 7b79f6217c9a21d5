/**
 * Whose address the key `ip` counts. On Workers, Cloudflare's edge says it. Elsewhere only the operator knows which
 * field a proxy writes, and any other field is written by clients.
 */

import { ConfigurationError, describeValue } from "../config/mistake.ts";
import { createLines } from "../lines.ts";
import { countedAddress } from "../request/address.ts";
import type { RequestHead } from "../request/request-head.ts";
import { addressText, type ReadAddress } from "../request/sources.ts";
import { forwardedFor, isForwarded, trustExpected, walkBy } from "./proxies.ts";

/**
 * Whose address is counted.
 *
 * `{ header: "x-forwarded-for", hops: 1 }`: an entry of a list that proxies write. `hops: 1`, the default, is the last
 * entry: the nearest proxy has written it. With two proxies of yours, one behind the other, it is `hops: 2`. 1 … 32. A
 * client can write entries too, but only in front of these. Behind Cloudflare: `{ header: "cf-connecting-ip" }`. A port
 * behind the address is ignored.
 *
 * `{ header: "x-forwarded-for", trust: ["10.0.0.0/8", "private", "loopback"] }`: where the number of proxies varies. From
 * the address of the connection (on Workers, the one that Cloudflare saw) through the entries from the last to the first,
 * the client is the first address outside of these ranges; if all are inside, the first entry. An entry that is no
 * address ends the search. `header: "forwarded"` reads RFC 7239, with `hops` too.
 *
 * `"socket"`: the address of the connection, on Node, Bun and Deno. Only for a server that no proxy stands in front of:
 * behind a proxy all clients would have the proxy's address.
 *
 * A request without the header, with fewer entries than `hops`, or with an entry that is no address counts as
 * `anonymous`, together with all others of its kind. A line on the console says so, once a second.
 */
export type ClientIp =
  | "socket"
  | { readonly header: string; readonly hops?: number; readonly trust?: readonly string[] };

const MAX_HOPS = 32;
const UNREPORTED = "this platform does not report the connection";
const HEADER_EXPECTED = '{ header: "x-forwarded-for", hops: 1 }';
const EXPECTED = `"socket" or ${HEADER_EXPECTED}`;

const write = createLines(undefined, 1);

/**
 * @param where the beginning of paths in mistakes, for example `rateLimit`.
 * @throws {ConfigurationError} (`ERR_CLIENT_IP`). Without a `clientIp`, elsewhere than on Workers, what is returned
 * throws it.
 */
export function addressBy(where: string, clientIp: ClientIp | undefined): ReadAddress | undefined {
  const wrong = (expected: string, found: string) =>
    new ConfigurationError([{ code: "ERR_CLIENT_IP", path: `${where}: clientIp`, expected, found }]);

  if (clientIp === undefined) {
    if (isWorkers()) return undefined;
    return () => {
      throw wrong(`${EXPECTED}, because outside of Cloudflare Workers only you know who the client is`, "nothing");
    };
  }
  if (clientIp === "socket") {
    return (request, platform) => {
      const found = connectionAddress(request, platform);
      if (found !== UNKNOWN) return counted(found, "the address of the connection");
      throw wrong(`${HEADER_EXPECTED}: ${UNREPORTED}`, '"socket"');
    };
  }
  const mistake = wrongHeader(clientIp, EXPECTED);
  if (mistake) throw wrong(mistake[0], describeValue(mistake[1]));
  const { trust } = clientIp;
  return trust === undefined ? byHops(clientIp) : byTrust(clientIp, trust, wrong);
}

type Header = Exclude<ClientIp, "socket">;

/** What is wrong with a header: what was expected, in words, and what was found. */
export function wrongHeader(
  clientIp: unknown,
  form = HEADER_EXPECTED,
): readonly [expected: string, found: unknown] | undefined {
  const { header, hops = 1, trust, ...others } = (clientIp ?? {}) as Partial<Record<string, unknown>>;
  const isFieldName = typeof header === "string" && /^[!#$%&'*+.^`|~\w-]+$/.test(header);
  if (!isFieldName || Object.keys(others).length > 0) return [form, clientIp];
  if (typeof hops !== "number" || !Number.isInteger(hops) || hops < 1 || hops > MAX_HOPS) {
    return [`hops to be an integer from 1 to ${MAX_HOPS}`, hops];
  }
  if (trust === undefined) return undefined;
  if ((clientIp as Header).hops !== undefined) return ["either hops or trust", clientIp];
  const expected = trustExpected(trust);
  return expected === undefined ? undefined : [expected, trust];
}

function byHops({ header, hops = 1 }: Header): ReadAddress {
  const expected = `${header} with ${hops === 1 ? "an address" : `${hops} addresses`}`;
  const isCloudflares = header.toLowerCase() === "cf-connecting-ip";
  return ({ headers }) => {
    const list = headers.get(header);
    const entry = isForwarded(header) ? forwardedFor(list ?? "")?.at(-hops) : entryOf(list, hops);
    return counted(isCloudflares ? addressText(headers, entry) : entry, expected);
  };
}

type MakeWrong = (expected: string, found: string) => ConfigurationError;

function byTrust({ header }: Header, trust: readonly string[], wrong: MakeWrong): ReadAddress {
  const clientOf = walkBy(header, trust, withoutPort);
  const peerOf = isWorkers() ? ({ headers }: RequestHead) => addressText(headers) : connectionAddress;
  return (request, platform) => {
    const peer = peerOf(request, platform);
    if (peer === UNKNOWN) throw wrong(`hops in place of trust: ${UNREPORTED}`, "trust");
    return counted(peer && clientOf(peer, request.headers.get(header)), `${header} with addresses`);
  };
}

/** The address, or undefined and a line in the log. */
function counted(text: string | null | undefined, expected: string): string | undefined {
  const address = text && withoutPort(text.trim());
  if (address && countedAddress(address) !== undefined) return address;
  write(() => ({
    event: "no-client-address",
    at: new Date().toISOString(),
    expected,
    // The client may have written it: its text does not belong into a log.
    found: text ? "another text" : "nothing",
  }));
  return undefined;
}

/** The entry that the nearest proxy but `hops - 1` has written. Of 64 KiB of entries only the last are looked at. */
function entryOf(list: string | null, hops: number): string | null {
  if (list === null) return null;
  let end = list.length;
  for (let hop = 1; hop < hops; hop++) {
    end = list.lastIndexOf(",", end - 1);
    if (end <= 0) return null;
  }
  return list.slice(list.lastIndexOf(",", end - 1) + 1, end);
}

/** Some proxies write the port of the connection, and Node the interface of a link-local address. */
function withoutPort(text: string): string {
  const [, inBrackets, v4] = /^(?:\[([^\]]+)\](?::\d+)?|(\d+(?:\.\d+){3}):\d+)$/.exec(text) ?? [];
  // An interface may be named `br-1a2b` or `eth0.100`.
  return (inBrackets ?? v4 ?? text).replace(/%.+$/, "");
}

const UNKNOWN = Symbol("the platform reports nothing about the connection");

/** What `@hono/node-server` and headgate/express, Deno and Bun pass beside a request. */
interface Connected {
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: unknown } };
  readonly remoteAddr?: { readonly hostname?: unknown };
  readonly server?: unknown;
}

/** Bun knows the connection of a request that came, and of no copy. */
const came = new WeakMap<object, object>();
const asItCame = (request: object) => came.get(request) ?? request;

/** Notes that a request goes on as this copy. Nothing to note: it is the same. */
export function noteCopy(copy: object, request: object): void {
  if (copy !== request) came.set(copy, asItCame(request));
}

/** Bindings of a Worker may have these names, and an answer for every property: none of their values is a text. */
function connectionAddress(request: object, platform: unknown): string | undefined | typeof UNKNOWN {
  const { incoming, remoteAddr, server = platform } = (platform ?? {}) as Connected;
  const bun = server as { requestIP?(request: unknown): { readonly address?: unknown } | null } | null | undefined;
  let address: unknown;
  if (incoming) address = incoming.socket?.remoteAddress;
  else if (remoteAddr) address = remoteAddr.hostname;
  else if (typeof bun?.requestIP === "function") address = bun.requestIP(asItCame(request))?.address;
  else return UNKNOWN;
  return typeof address === "string" ? address : undefined;
}

/** `CF-Connecting-IP` cannot tell: elsewhere a client may write it. */
function isWorkers(): boolean {
  const { navigator } = globalThis as { readonly navigator?: { readonly userAgent?: unknown } };
  return navigator?.userAgent === "Cloudflare-Workers";
}
