// The console's files, as the binding to static files serves them.

import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { gatewayWith, recordingOrigin, uniqueName } from "./support.ts";

const { ASSETS } = env as unknown as { readonly ASSETS: Fetcher };
const ADMIN_TOKEN = "a-token-of-32-characters-at-least";
const CONSOLE = "/.headgate/console";
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const policies = () => [{ name: uniqueName("console"), limits: [{ limit: 5, window: "1h" }] }];
const ask = (bindings: object = { ADMIN_TOKEN, ASSETS }) => gatewayWith({ POLICIES: policies(), ...bindings });

it("is a page for everybody, which nobody may frame or keep without asking again", async () => {
  const gateway = ask();
  for (const path of [CONSOLE, `${CONSOLE}/`, `${CONSOLE}/index.html`, `${CONSOLE}?tab=explain`]) {
    const answer = await gateway(path);
    expect([path, answer.status, await answer.text()]).toEqual([path, 200, expect.stringContaining("<!doctype html>")]);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-type": expect.stringContaining("text/html"),
      "content-security-policy": CSP,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "private, no-cache",
    });
    expect(answer.headers.has("RateLimit")).toBe(false);
  }
  const head = await gateway(CONSOLE, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
});

it("is the same page in any spelling of its path, and its files are asked for under their own path only", async () => {
  const asked: string[] = [];
  const recording = {
    fetch(request: Request) {
      asked.push(request.url);
      return ASSETS.fetch(request as never);
    },
  };
  const gateway = ask({ ADMIN_TOKEN, ASSETS: recording });
  const paths = ["consol%65/index.html", "%63onsole/", "c%6Fnsole", "console/%69ndex.html", "consol%65//a.example/x"];
  const answers = await Promise.all(paths.map((path) => gateway(`/.headgate/${path}`)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 404]);
  const { origin } = new URL(asked[0]!);
  expect(asked).toEqual([...Array(4).fill(`${origin}/index.html`), `${origin}//a.example/x`]);
});

it("is not sent again while it is the same", async () => {
  const gateway = ask();
  const ETag = (await gateway(CONSOLE)).headers.get("ETag");
  expect(ETag).toMatch(/"/);
  const again = await gateway(CONSOLE, { headers: { "If-None-Match": ETag! } });
  expect([again.status, await again.text(), again.headers.get("ETag")]).toEqual([304, "", ETag]);
  expect(again.headers.get("Content-Security-Policy")).toBe(CSP);
  expect((await gateway(CONSOLE, { headers: { "If-None-Match": '"other"' } })).status).toBe(200);
});

it.each([
  ["nothing.js", { ADMIN_TOKEN, ASSETS }, `${CONSOLE}/nothing.js`, "GET"],
  ["a path outside", { ADMIN_TOKEN, ASSETS }, `${CONSOLE}/..%2f..%2fwrangler.toml`, "GET"],
  ["another path", { ADMIN_TOKEN, ASSETS }, `${CONSOLE}s/index.html`, "GET"],
  ["a method that changes something", { ADMIN_TOKEN, ASSETS }, CONSOLE, "POST"],
  ["no admin", { ASSETS }, CONSOLE, "GET"],
  ["no files", { ADMIN_TOKEN }, CONSOLE, "GET"],
])("is not there: %s", async (_what, bindings, path, method) => {
  const { requests, ORIGIN } = recordingOrigin();
  const answer = await ask({ ...bindings, ORIGIN })(path, { method });
  expect([answer.status, await answer.json()]).toMatchObject([404, { title: "Not Found", status: 404 }]);
  expect(requests).toEqual([]);
});

it("only its own path leads to the files: all others are limited, and go to the origin", async () => {
  const { requests, ORIGIN } = recordingOrigin();
  const gateway = ask({ ADMIN_TOKEN, ASSETS, ORIGIN });
  const answers = await Promise.all(["/index.html", "/", "/console/dist/index.html"].map((path) => gateway(path)));
  expect(await Promise.all(answers.map((answer) => answer.text()))).toEqual(Array(3).fill("origin"));
  for (const { headers } of answers) expect(headers.has("RateLimit")).toBe(true);
  expect(requests).toHaveLength(3);
});
