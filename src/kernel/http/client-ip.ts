/**
 * Whose address the key `ip` counts. On Workers, Cloudflare's edge says it. Elsewhere only the operator knows which
 * field a proxy writes, and any other field is written by clients.
 */

import { type ClientIp, EXPECTED, HEADER_EXPECTED, type Header, wrongHeader } from "../config/client-ip.ts";
import { isWorkers } from "../config/env.ts";
import { ConfigurationError, describeValue } from "../config/mistake.ts";
import type { Policy } from "../core/policy.ts";
import { createLines } from "../lines.ts";
import { countedAddress } from "../request/address.ts";
import type { RequestHead } from "../request/request-head.ts";
import { addressText, type ReadAddress } from "../request/sources.ts";
import { mayBeAddress } from "./key.ts";
import { forwardedFor, isForwarded, walkBy } from "./proxies.ts";

const FORWARDED_FOR = "X-Forwarded-For";
const UNREPORTED = "this platform does not report the connection";

const write = createLines(undefined, 1);

function wrongAt(where: string) {
  return (expected: string, found: string) =>
    new ConfigurationError([{ code: "ERR_CLIENT_IP", path: `${where}: clientIp`, expected, found }]);
}

const ONLY_YOU = "outside of Cloudflare Workers only you know who the client is";

/**
 * Refuses, elsewhere than on Workers, policies that may need an address that nobody reads.
 *
 * @param isNamed the program itself names the clients that are counted.
 * @throws {ConfigurationError} (`ERR_CLIENT_IP`)
 */
export function mustHaveAddress(
  where: string,
  clientIp: ClientIp | undefined,
  policies: readonly Policy[],
  isNamed: boolean,
): void {
  if (clientIp !== undefined || isWorkers()) return;
  const needing = policies.find(({ exempt, key }) => exempt || (!isNamed && mayBeAddress(key)));
  if (!needing) return;
  const why = needing.exempt ? "exempts addresses" : "may count a client by its address";
  const expected = `${EXPECTED}: policy ${needing.name} ${why}, and ${ONLY_YOU} (a Worker that is built or tested elsewhere: { header: "cf-connecting-ip" })`;
  throw wrongAt(where)(expected, "nothing");
}

/**
 * @param where the beginning of paths in mistakes, for example `rateLimit`.
 * @throws {ConfigurationError} (`ERR_CLIENT_IP`). Without a `clientIp`, elsewhere than on Workers, what is returned
 * throws it.
 */
export function addressBy(where: string, clientIp: ClientIp | undefined): ReadAddress | undefined {
  const wrong = wrongAt(where);
  // On Workers the connection comes from Cloudflare's edge, which says who has connected to it.
  if ((clientIp === undefined || clientIp === "socket") && isWorkers()) return undefined;
  if (clientIp === undefined) {
    return () => {
      throw wrong(`${EXPECTED}, because ${ONLY_YOU}`, "nothing");
    };
  }
  if (clientIp === "socket") {
    return (request, platform, limiter) => {
      if (limiter) noteProxy(request, limiter);
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

/** Limiters of which the log says that a proxy seems to stand in front. */
const behindProxy = new WeakSet<object>();

function noteProxy({ headers }: RequestHead, limiter: object): void {
  if (behindProxy.has(limiter) || !headers.has(FORWARDED_FOR)) return;
  behindProxy.add(limiter);
  const note = `a request has come with ${FORWARDED_FOR}, and clientIp is "socket": behind a proxy all clients have its address and share one count. Then write clientIp: ${HEADER_EXPECTED}. If clients connect directly, one of them has written the header, and nothing is wrong`;
  console.warn(JSON.stringify({ event: "note", note }));
}

function byHops({ header, hops = 1 }: Header): ReadAddress {
  const expected = `${header} with ${hops === 1 ? "an address" : `${hops} addresses`}`;
  const isCloudflares = header.toLowerCase() === "cf-connecting-ip";
  const entryIn = isForwarded(header) ? (list: string | null) => forwardedFor(list ?? "")?.at(-hops) : entryOf;
  return ({ headers }) => {
    const entry = entryIn(headers.get(header), hops);
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
