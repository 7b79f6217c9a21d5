// Bytes that no browser sends, through a real socket. Each gets an HTTP answer.

import { connect } from "node:net";
import { buffer } from "node:stream/consumers";
import { expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { type Gateway, startGateway } from "../support/gateway/gateway.ts";

/** Sends the head of a request as it is, and reads all answers. */
async function raw({ url }: Gateway, head: string): Promise<string> {
  const client = connect(Number(url.port), url.hostname);
  client.write(Buffer.from(`${head}\r\nConnection: close\r\n\r\n`, "latin1"));
  return (await buffer(client)).toString("latin1");
}

const HOST = "Host: gate.example\r\nCF-Connecting-IP: 192.0.2.1";
const UTF_8 = Buffer.from("😀é").toString("latin1");

it("every head gets one answer that is not an error of the gateway, and the next client gets its own answer", async () => {
  const policies = [{ name: "key", key: ["header:x-user", "query:u"], limits: [{ limit: 2, window: "30d" }] }];
  const gateway = await startGateway({ policies, redis: null });
  // workerd accepts these as requests. It answers by itself if the Host or the target makes no valid URL.
  const heads = [
    ...["/\0", "/\x01", "/ a", "/%", "/%zz?u=%zz", "//", "/\\\\", "/\x7f", "/{}", `/${UTF_8}?u=${UTF_8}`].map(
      (path) => `GET ${path} HTTP/1.1\r\n${HOST}`,
    ),
    ...["", "a@b", "gate.example/x?", "xn--", "..", UTF_8, "[::1]:1"].map((host) => `GET / HTTP/1.1\r\nHost: ${host}`),
    "GET http://other.example/login HTTP/1.1\r\nHost: gate.example",
    "GET / HTTP/1.0",
    `GET / HTTP/1.1\r\n${HOST}\r\nX-User: a\0b`,
    `GET / HTTP/1.1\r\n${HOST}\r\nX-User: a\rb`,
    `GET / HTTP/1.1\r\n${HOST}\r\nX-User: ${UTF_8}`,
    `GET / HTTP/1.1\r\n${HOST}\r\nX-User:${" ".repeat(60_000)}`,
    `GET / HTTP/1.1\r\n${HOST}\r\nX-User: ${"x".repeat(65_536)}`,
    `GET / HTTP/1.1\r\n${HOST}\r\nX-User: ${"x".repeat(1_000_000)}`,
    `GET /?u=${"%7d".repeat(20_000)} HTTP/1.1\r\n${HOST}`,
    ...["Origin", "Accept", "Cookie", "X-HTTP-Method-Override", "Authorization", "CF-Connecting-IP"].flatMap((name) => [
      // Three times each, because the refusal repeats some of these fields.
      ...Array<string>(3).fill(`GET / HTTP/1.1\r\n${HOST}\r\nX-User: ${name}\r\n${name}: ${UTF_8}\xff\x80`),
      ...Array<string>(3).fill(`GET / HTTP/1.1\r\n${HOST}\r\nX-User: long ${name}\r\n${name}: ${"a,;".repeat(20_000)}`),
    ]),
    ...["FOO", "TRACE", "get"].map((method) => `${method} / HTTP/1.1\r\n${HOST}`),
  ];
  for (const head of heads) {
    const answer = await raw(gateway, head);
    const shown = JSON.stringify(head.slice(0, 100));
    expect(answer.match(/^HTTP\/1\.[01] \d{3} /gm), shown).toHaveLength(1);
    expect(answer, shown).toMatch(/^HTTP\/1\.[01] (200|400|404|414|429|431|501) /);
    const names = answer.split("\r\n\r\n")[0]!.split("\r\n").slice(1);
    for (const line of names) expect(line, shown).toMatch(/^[A-Za-z-]+: [\x20-\xff]*$/);
  }
  const next = await gateway.fetch("/", { headers: { "X-User": "next" } });
  expect([next.status, fieldsOf(next).states]).toEqual([200, { key: { r: 1, t: expect.any(Number) } }]);
});
