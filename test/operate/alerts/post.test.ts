// One try to deliver warnings, over real sockets.

import { createHmac } from "node:crypto";
import type { RequestListener } from "node:http";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { postWarnings } from "../../../src/operate/alerts/post.ts";
import { startOrigin } from "../../support/gateway/origin-server.ts";

const SECRET = "a secret of thirty-two characters";
const BODY = '{"warnings":[{"policy":"api","key":"ü"}]}';

/** @returns the URL of a server with this answer. */
const serve = async (listener: RequestListener) => `${(await startOrigin(listener)).url}/hook?key=x`;

it("is signed so that the webhook can check who has sent it, and when", async () => {
  const got: { readonly headers: NodeJS.Dict<string | string[]>; readonly url: string; readonly body: string }[] = [];
  const url = await serve(async (request, response) => {
    got.push({ headers: request.headers, url: `${request.method} ${request.url}`, body: await text(request) });
    response.writeHead(204).end();
  });
  expect(await postWarnings({ url, secret: SECRET }, "the-id", BODY)).toBeUndefined();
  const [{ headers, ...rest }] = got as [(typeof got)[number]];
  expect(rest).toEqual({ url: "POST /hook?key=x", body: BODY });
  expect(headers).toMatchObject({ "content-type": "application/json", "headgate-delivery": "the-id" });
  const [, t, v1] = /^t=(\d{10}),v1=([0-9a-f]{64})$/.exec(headers["headgate-signature"] as string)!;
  expect(v1).toBe(createHmac("sha256", SECRET).update(`${t}.${BODY}`).digest("hex"));
  expect(Math.abs(Number(t) - Date.now() / 1_000)).toBeLessThan(60);
});

it.each<[string, RequestListener, expected: string]>([
  ["500", (_, response) => void response.writeHead(500).end("x".repeat(100_000)), "status 500"],
  [
    "a redirect, which is not followed",
    (_, response) => void response.writeHead(307, { Location: "/" }).end(),
    "status 307",
  ],
  ["nothing", () => {}, "no answer in time"],
  ["a head that never ends", (_, { socket }) => void socket!.write("HTTP/1.1 200 OK\r\n"), "no answer in time"],
  ["no HTTP", (_, { socket }) => void socket!.end("hello"), "no connection"],
])("has failed if the answer is %s", async (_, listener, expected) => {
  const url = await serve(listener);
  expect(
    await postWarnings({ url, secret: SECRET }, "the-id", BODY, expected === "no answer in time" ? 200 : 5_000),
  ).toBe(expected);
});

it("does not read the body of the answer", async () => {
  const url = await serve((_, response) => void response.writeHead(200).write("one part, and no end"));
  expect(await postWarnings({ url, secret: SECRET }, "the-id", BODY, 5_000)).toBeUndefined();
});
