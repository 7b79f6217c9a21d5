// An operator's quarter of an hour with everything real: browser, console, gateway, objects and Redis. What the page
// does in each of its states is in test/console.

import type { Page } from "playwright-core";
import { expect, it, onTestFinished } from "vitest";
import { type LocalGateway, startLocalGateway } from "../../scripts/dev/local-gateway.ts";
import { lookUp, newPage, type Opened, show, signIn, violations } from "../console/page.ts";
import { ADMIN_TOKEN } from "../support/gateway/admin.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";
import { sharedBrowser } from "./browser.ts";

const CLIENT = "198.51.100.23";
const POLICY = "public-api";
const CONSOLE = "/.headgate/console";
const ADMIN = "/.headgate/admin";
/** From a request to its place in the console: two flushes, and one question of the page. */
const SEEN = { timeout: 15_000, interval: 100 };

const browser = sharedBrowser();

/** A gateway whose policy admits 5 requests an hour. */
async function startWithConsole() {
  // Of its own: it has one live document.
  const { rest } = await startPrivateRedis();
  const gateway = await startLocalGateway(
    {
      POLICIES: [{ name: POLICY, match: { path: "/v1/*" }, limits: [{ limit: 5, window: "1h" }] }],
      UPSTASH_REDIS_REST_URL: rest.url,
      UPSTASH_REDIS_REST_TOKEN: rest.token,
      REDIS_TIMEOUT_MS: 10_000,
      ADMIN_TOKEN,
      ...{ STATS_FLUSH: "1s", LIVE_REFRESH: "1s", REGION: "eu" },
    },
    { withConsole: true },
  );
  onTestFinished(gateway.stop);
  const opened = await newPage(browser());
  onTestFinished(() => opened.page.context().close());
  return { gateway, ...opened };
}

/** The statuses of so many requests of the client. */
async function send({ send }: LocalGateway, count: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < count; i++) {
    const { status, body } = await send("/v1/items", CLIENT);
    await body?.cancel();
    statuses.push(status);
  }
  return statuses;
}

/** Presses the buttons of these names, one after the other. A form's button may have the name of the one before it. */
async function press(page: Page, card: string, ...names: string[]): Promise<void> {
  const region = page.getByRole("region", { name: card });
  for (const name of names) await region.getByRole("button", { name, exact: true }).last().click();
}

function expectQuiet({ complaints, urls }: Opened, { url }: LocalGateway): void {
  expect(complaints).toEqual([]);
  expect(new Set([...urls].map((one) => new URL(one).origin))).toEqual(new Set([url.origin]));
  expect([...urls].filter((one) => one.includes(CLIENT))).toEqual([]);
}

it("shows refusals as they rise, finds, blocks and frees a client, and shows nothing after it has signed out", async () => {
  const { gateway, ...opened } = await startWithConsole();
  const { page } = opened;
  await page.goto(new URL(CONSOLE, gateway.url).href);
  await signIn(page, ADMIN_TOKEN);

  // Refusals rise.
  const refused = page.getByRole("row", { name: POLICY }).getByRole("cell").nth(1);
  const ofAll = page.locator(".tile", { hasText: "refused" }).locator(".note");
  expect(await send(gateway, 8)).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
  await expect.poll(() => refused.innerText(), SEEN).toBe("38 %");
  expect(await ofAll.innerText()).toBe("3");
  await send(gateway, 12);
  await expect.poll(() => ofAll.innerText(), SEEN).toBe("15");
  await expect.poll(() => refused.innerText(), SEEN).toBe("75 %");
  expect(await violations(page)).toEqual([]);

  // A client by its raw key: it is blocked, and freed.
  await lookUp(page, CLIENT);
  const card = `${POLICY}: ${CLIENT}`;
  await page.getByRole("region", { name: card }).getByText("0 of 5 left").waitFor();
  await press(page, card, "Block", "Block …", "Yes: block");
  await page.getByText("blocked").first().waitFor();
  expect(await send(gateway, 1)).toEqual([403]);
  await press(page, card, "Lift the block", "Lift the block");
  await expect.poll(() => send(gateway, 1), SEEN).toEqual([429]);

  // No script reads the cookie, and who has signed out sees nothing.
  expect(await page.evaluate(() => document.cookie)).toBe("");
  expect(await page.context().cookies()).toMatchObject([{ httpOnly: true, secure: true, sameSite: "Strict" }]);
  await show(page, "#/overview");
  await refused.waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You are signed out.").waitFor();
  expect((await page.content()).includes(POLICY)).toBe(false);
  await expect.poll(() => page.context().cookies(), SEEN).toEqual([]);
  await page.reload();
  await page.getByLabel("Admin token").waitFor();
  expectQuiet(opened, gateway);
});

it("changes nothing for a page of another site or origin, while the cookie is in the browser", async () => {
  const { gateway, page } = await startWithConsole();
  const { origin } = gateway.url;
  await page.request.post(`${origin}${ADMIN}/session`, { headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } });
  const live = async () => (await (await page.request.get(`${origin}${ADMIN}/live`)).json()) as { version: number };
  expect(await live()).toMatchObject({ version: 0 });

  const asked: string[] = [];
  page.on("response", async (answer) => {
    if (!answer.url().startsWith(origin)) return;
    const { cookie } = await answer.request().allHeaders();
    asked.push(`${answer.request().method()} ${cookie === undefined ? "-" : "cookie"} ${answer.status()}`);
  });
  const elsewhere = await startOrigin((_request, response) => {
    response.setHeader("Content-Type", "text/html");
    response.end(`<!doctype html><link rel="icon" href="data:,"><form method="post" enctype="text/plain"
      action="${origin}${ADMIN}/policies/${POLICY}"><input name='{ "mode": "shadow", "' value='": 1 }'></form>`);
  });
  // Another site gets no cookie. Another port of the same host is the same site: the gateway looks at the origin.
  for (const [url, seen] of [
    [elsewhere.url.replace("127.0.0.1", "localhost"), "POST - 401"],
    [elsewhere.url, "POST cookie 403"],
  ] as const) {
    await page.goto(url);
    const changed = await page.evaluate(changeByScript, `${origin}${ADMIN}/policies/${POLICY}`);
    expect(changed).toEqual({ PUT: "TypeError", PATCH: "TypeError", DELETE: "TypeError", POST: "opaque" });
    await page.evaluate(() => document.forms[0]!.submit());
    await page.waitForURL(`${origin}/**`);
    await expect.poll(() => asked.at(-1), SEEN).toBe(seen);
  }
  expect(await live()).toMatchObject({ version: 0 });
});

/** This function runs inside the page. */
async function changeByScript(url: string): Promise<Record<string, string>> {
  const outcomes: Record<string, string> = {};
  for (const method of ["PUT", "PATCH", "DELETE", "POST"]) {
    const mode = method === "POST" ? "no-cors" : "cors";
    outcomes[method] = await fetch(url, { method, mode, credentials: "include", body: '{ "mode": "shadow" }' }).then(
      ({ type }) => type,
      ({ name }) => name,
    );
  }
  return outcomes;
}
