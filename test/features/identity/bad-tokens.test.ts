// Tokens that count as none: the next key of the list counts. Real requests through `withRateLimit`, and a real server
// for the key sets.

import { createHmac } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { identityOf } from "../../../src/features/identity/jwt-identity.ts";
import { createLimiter, memoryStore, withRateLimit } from "../../../src/index.ts";
import {
  AUDIENCE,
  encoded,
  jwkOf,
  type KeyServer,
  pairOf,
  signature,
  startKeyServer,
  tokenOf,
  withKeys,
} from "../../support/issuer.ts";

const NOW_S = 1_800_000_000;
const ISSUER = "https://id.example.com";
const OTHER_ISSUER = "https://other.example.com";
const CLAIMS = { iss: ISSUER, aud: AUDIENCE, sub: "ann", exp: NOW_S + 600, org: { id: "acme" } };

const rsa = pairOf("rsa");
const rsa2 = pairOf("rsa-2");
const ec = pairOf("ec", "ES256");
const ed = pairOf("ed", "EdDSA");
const small = pairOf("small", "RS256", 1024);
const toEncrypt = pairOf("enc");
const foreign = pairOf("rsa");
const other = pairOf("other");
const HEADER = { alg: "RS256", kid: "rsa", typ: "JWT" };

const token = (claims: unknown = CLAIMS, header: unknown = HEADER, pair = rsa) => tokenOf(pair, header, claims);
const claims = (more: object) => token({ ...CLAIMS, ...more });
const without = (name: string) => token(Object.fromEntries(Object.entries(CLAIMS).filter(([one]) => one !== name)));
const header = (more: object, pair = rsa) => token(CLAIMS, { ...HEADER, ...more }, pair);
const [HEAD, BODY, SIGNATURE] = token().split(".") as [string, string, string];

/** Signed with an HMAC whose secret everybody knows. */
function hmac(alg: string, secret: string | Buffer, first = JSON.stringify({ ...HEADER, alg })): string {
  const data = `${encoded(first)}.${BODY}`;
  return `${data}.${createHmac(`sha${alg.slice(2)}`, secret)
    .update(data)
    .digest("base64url")}`;
}

const PEM = rsa.publicKey.export({ type: "spki", format: "pem" });
const DER = rsa.publicKey.export({ type: "spki", format: "der" });
/** What the server of an attacker would say. Nobody asks it. */
const attacker = "https://attacker.example/jwks.json";

const BAD: Readonly<Record<string, string>> = {
  "alg none without a signature": `${encoded({ ...HEADER, alg: "none" })}.${BODY}.`,
  "alg none with a signature": `${encoded({ ...HEADER, alg: "none" })}.${BODY}.${SIGNATURE}`,
  "alg nOnE": `${encoded({ ...HEADER, alg: "nOnE" })}.${BODY}.${SIGNATURE}`,
  "an HMAC with the public key as PEM": hmac("HS256", PEM),
  "an HMAC with the public key as DER": hmac("HS512", DER),
  "an HMAC with the key of the key set as JSON": hmac("HS256", JSON.stringify(jwkOf(rsa))),
  "an HMAC with a secret of the key set": hmac("HS256", "secret", JSON.stringify({ alg: "HS256", kid: "oct" })),
  "a header that says ES256 over a signature of RS256": header({ alg: "ES256" }),
  "RS384 by a key for RS256": header({ alg: "RS384" }, { ...rsa, alg: "RS384" }),
  "PS256 by a key for RS256": header({ alg: "PS256" }, { ...rsa, alg: "PS256" }),
  "an algorithm that nobody knows": header({ alg: "XS256" }),
  "no algorithm": header({ alg: undefined }),
  "an algorithm that is a number": header({ alg: 256 }),
  "duplicate algorithms, the last one none": token(CLAIMS, '{"alg":"RS256","kid":"rsa","alg":"none"}'),
  "duplicate algorithms, forged with an HMAC": hmac("HS256", PEM, '{"alg":"RS256","kid":"rsa","alg":"HS256"}'),
  "duplicate algorithms, an HMAC first": hmac("HS256", PEM, '{"alg":"HS256","kid":"rsa","alg":"RS256"}'),
  "duplicate names of keys, the last one unknown": token(CLAIMS, '{"alg":"RS256","kid":"rsa","kid":"lost"}'),
  "another issuer": claims({ iss: "https://evil.example.com" }),
  "the issuer with a slash": claims({ iss: `${ISSUER}/` }),
  "the issuer in a list": claims({ iss: [ISSUER] }),
  "no issuer": without("iss"),
  "another issuer's name, signed by this one": claims({ iss: OTHER_ISSUER }),
  "this issuer's name, signed by another one": token(CLAIMS, { ...HEADER, kid: "other" }, other),
  "another audience": claims({ aud: "shop" }),
  "a list of other audiences": claims({ aud: ["shop", "API"] }),
  "no audience": without("aud"),
  "an audience that is a number": claims({ aud: 7 }),
  "expired for a minute": claims({ exp: NOW_S - 60 }),
  "no end": without("exp"),
  "an end that is a text": claims({ exp: String(CLAIMS.exp) }),
  "not valid for another 61 s": claims({ nbf: NOW_S + 61 }),
  "a beginning that is a text": claims({ nbf: "0" }),
  "an unknown key": header({ kid: "lost" }),
  "the name of another key": header({ kid: "rsa-2" }),
  "the name of a key of another kind": header({ kid: "ec" }),
  "no name of a key, of which there are several": header({ kid: undefined }),
  "a name of a key that is a number": header({ kid: 1 }),
  "a foreign key with a known name": header({}, foreign),
  "a key that is for encryption": header({ kid: "enc" }, toEncrypt),
  "a key of 1024 bits": header({ kid: "small" }, small),
  "16 KiB of claims": claims({ roles: "x".repeat(16_384) }),
  "a sub that is an object": claims({ sub: { toString: "ann" } }),
  "a sub that is a list": claims({ sub: ["ann"] }),
  "a sub that is a number": claims({ sub: 42 }),
  "a sub that is true": claims({ sub: true }),
  "an empty sub": claims({ sub: "" }),
  "a sub that is null": claims({ sub: null }),
  "no sub": without("sub"),
  "a sub of the prototype": token(
    '{"__proto__":{"sub":"ann"},"iss":"https://id.example.com","aud":"api","exp":1800000600}',
  ),
  "crit with an unknown field": header({ crit: ["exp2"], exp2: 1 }),
  "crit that is empty": header({ crit: [] }),
  "claims that are not encoded": (() => {
    const first = encoded({ ...HEADER, b64: false, crit: ["b64"] });
    return `${first}.${BODY}.${signature(`${first}.${BODY}`, rsa)}`;
  })(),
  "b64 without crit": header({ b64: false }),
  "a key in the header": header({ jwk: jwkOf(foreign) }, foreign),
  "the address of a key set in the header": header({ jku: attacker }, foreign),
  "certificates in the header": header({ x5u: attacker, x5c: [DER.toString("base64")] }, foreign),
  "a cut signature": `${HEAD}.${BODY}.${SIGNATURE.slice(0, -8)}`,
  "a signature of one character": `${HEAD}.${BODY}.A`,
  "the signature of another token": `${HEAD}.${encoded({ ...CLAIMS, sub: "bob" })}.${SIGNATURE}`,
  "characters after the signature": `${token()}AAAA`,
  "base64 of the other alphabet": `${HEAD}.${BODY}.${Buffer.from(SIGNATURE, "base64url").toString("base64")}`,
  "a space inside": `${HEAD}. ${BODY}.${SIGNATURE}`,
  "five parts": `${encoded({ alg: "RSA-OAEP", enc: "A256GCM", kid: "enc" })}.AAAA.AAAA.AAAA.AAAA`,
  "two parts": `${HEAD}.${BODY}`,
  "claims that are no JSON": token("sub=ann"),
  "claims that are a list": token([CLAIMS]),
  "claims that are null": token("null"),
  "a header that is no JSON": token(CLAIMS, "RS256"),
  "a header that is a list": token(CLAIMS, [HEADER]),
  "a token of another kind": "0123456789abcdef",
};

const GOOD: Readonly<Record<string, string>> = {
  RS256: token(),
  ES256: token(CLAIMS, { alg: "ES256", kid: "ec" }, ec),
  EdDSA: token(CLAIMS, { alg: "EdDSA", kid: "ed" }, ed),
  "the only key of its kind, without its name": token(CLAIMS, { alg: "EdDSA" }, ed),
  "one audience of several": claims({ aud: ["shop", AUDIENCE] }),
  "expired for 59 s": claims({ exp: NOW_S - 59 }),
  "valid in 60 s": claims({ nbf: NOW_S + 60 }),
  "10 KiB of claims": claims({ roles: "x".repeat(10_240) }),
  // Some servers drop what follows, and serve the client: it would leave its count, or its block.
  "a part after the signature": `${token()}.AAAA`,
  "a dot after the signature": `${token()}.`,
  "base64 with padding": `${token()}==`,
  "another word": `${token()} 7`,
  "characters of no token": `${token()}~!7`,
};

let keys: KeyServer;
let stop = () => {};
let counted: (token: string, name: string) => Promise<string>;

beforeAll(async () => {
  const stops: (() => void)[] = [];
  stop = () => {
    for (const one of stops) one();
  };
  const set = [rsa, rsa2, ec, ed, small].map((pair) => jwkOf(pair));
  const secret = { kty: "oct", kid: "oct", alg: "HS256", k: Buffer.from("secret").toString("base64url") };
  keys = await startKeyServer(withKeys(...set, jwkOf(toEncrypt, { use: "enc" }), secret), (one) => stops.push(one));
  const others = await startKeyServer(withKeys(jwkOf(other)), (one) => stops.push(one));
  const audience = [AUDIENCE];
  const identity = identityOf(
    [
      { jwks: keys.url, issuer: ISSUER, audience },
      { jwks: others.url, issuer: OTHER_ISSUER, audience },
    ],
    {
      timing: { nowMs: () => NOW_S * 1000, sleep: (ms) => new Promise((done) => setTimeout(done, ms)) },
      report: () => {},
    },
  );
  const kinds: string[] = [];
  const limiter = createLimiter({
    policies: [{ name: "api", key: ["jwt:sub", "header:x-next"], limits: [{ limit: 1, window: "1h" }] }],
    store: { ...memoryStore(), timeoutMs: 10_000 },
    identity,
    onDecision: (_, { takes }) => void kinds.push(takes[0]!.kind),
  });
  const { fetch } = withRateLimit(() => new Response(), limiter, { clientIp: { header: "x-real-ip" } });
  counted = async (token, name) => {
    const headers = { Authorization: `Bearer ${token}`, "X-Next": encodeURIComponent(name) };
    const ask = () => fetch(new Request("https://gate.example/", { headers }) as never, {}, undefined as never);
    const [first, second] = [await ask(), await ask()];
    return `${kinds.at(-1)} ${first.status} ${second.status}`;
  };
});

afterAll(() => stop());

it.each(Object.entries(BAD))("%s: the next key counts", async (name, token) => {
  expect(await counted(token, name)).toBe("header:x-next 200 429");
});

it("all together have asked for the key set once", () => {
  expect(keys.asked()).toBe(1);
});

it.each(Object.entries(GOOD))("a good token counts by its claim: %s", async (name, token) => {
  // All are the same person.
  expect(await counted(token, name)).toMatch(/^jwt:sub (200|429) 429$/);
});
