// An issuer of tokens: key pairs, tokens in any form, and a real HTTP server for its key set.

import { constants, generateKeyPairSync, type KeyObject, sign as signWith } from "node:crypto";
import type { ServerResponse } from "node:http";
import { startOrigin } from "./gateway/origin-server.ts";

export const AUDIENCE = "api";

const DIGESTS: Readonly<Record<string, string>> = { "256": "sha256", "384": "sha384", "512": "sha512" };

/** A key pair with its name, as the issuer uses it. */
export interface Pair {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** @param bits of an RSA key. */
export function pairOf(kid: string, alg = "RS256", bits = 2048): Pair {
  const pair = alg.startsWith("ES")
    ? generateKeyPairSync("ec", { namedCurve: "P-256" })
    : alg === "EdDSA"
      ? generateKeyPairSync("ed25519")
      : generateKeyPairSync("rsa", { modulusLength: bits });
  return { kid, alg, ...pair };
}

export function jwkOf({ kid, alg, publicKey }: Pair, more: object = {}): object {
  return { ...publicKey.export({ format: "jwk" }), kid, alg, use: "sig", ...more };
}

/** A text in base64url; anything else is written as JSON first. */
export function encoded(part: unknown): string {
  return Buffer.from(typeof part === "string" ? part : JSON.stringify(part)).toString("base64url");
}

/** @param alg how to sign, whatever the header says. */
export function signature(data: string, { alg, privateKey }: Pick<Pair, "alg" | "privateKey">): string {
  const digest = DIGESTS[alg.slice(2)] ?? null;
  const pss = alg.startsWith("PS") && {
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
  };
  const key = { key: privateKey, dsaEncoding: "ieee-p1363" as const, ...pss };
  return signWith(digest, Buffer.from(data), key).toString("base64url");
}

/** A token of any header and claims. A text is taken as it is. */
export function tokenOf(pair: Pair, header: unknown, claims: unknown): string {
  const data = `${encoded(header)}.${encoded(claims)}`;
  return `${data}.${signature(data, pair)}`;
}

/** How the server answers a request for the key set. */
type Answer = (response: ServerResponse) => void;

export interface KeyServer {
  readonly url: string;
  /** How often it was asked. */
  readonly asked: () => number;
  answer: Answer;
}

export const withKeys =
  (...keys: object[]): Answer =>
  (response) =>
    void response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ keys }));

/** Starts a server that answers as `answer` says at the time. @param stopAfter as for `startOrigin`. */
export async function startKeyServer(answer: Answer, stopAfter?: (stop: () => void) => void): Promise<KeyServer> {
  const { url, requests } = await startOrigin((_, response) => one.answer(response), stopAfter);
  const one: KeyServer = { url: `${url}/jwks.json`, asked: () => requests.length, answer };
  return one;
}
