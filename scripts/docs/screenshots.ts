/**
 * `npm run docs:screenshots`: pictures of the console in docs/console, in a minute or two. The gateway, its clients'
 * requests and the page are real. The hour before them is made up: it repeats what was counted in the real minute, with
 * ups and downs, and with an attack on the login that began 20 minutes ago.
 */

import { mkdirSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type BrowserContextOptions, chromium, type Page } from "playwright-core";
import type { Stats } from "../../console/src/api.ts";
import { type LocalGateway, startLocalGateway } from "../dev/local-gateway.ts";
import { CHROMIUM_ARGUMENTS, findChromium, HOW_TO_GET_CHROMIUM } from "../machine/chromium.ts";
import { earlierMinutes } from "./earlier-minutes.ts";
import { sendTraffic } from "./screenshot-traffic.ts";

const FOLDER = fileURLToPath(new URL("../../docs/console/", import.meta.url));
/** All together: they are part of every clone. */
const MAX_BYTES = 400_000;
const TOKEN = "the-token-of-the-gateway-in-the-pictures";
const HEADERS = { Authorization: `Bearer ${TOKEN}` };
const GREEDY = "203.0.113.7";
const BLOCKED = "198.51.100.66";

const POLICIES = [
  {
    name: "api",
    match: { path: "/v1/*" },
    limits: [
      { limit: 20, window: "1s" },
      { limit: 300, window: "1m", shadowLimit: 100 },
    ],
  },
  {
    name: "login",
    match: { method: "POST", path: "/login" },
    limits: [{ algorithm: "sliding-log", limit: 5, window: "1m" }],
  },
  {
    name: "burst-trial",
    mode: "shadow",
    match: { path: "/v1/*" },
    limits: [{ algorithm: "token-bucket", limit: 110, window: "1m", burst: 20 }],
  },
];

const executablePath = findChromium();
if (executablePath === undefined) throw new Error(HOW_TO_GET_CHROMIUM);
const gateway = await startLocalGateway(
  {
    ...{ POLICIES, ADMIN_TOKEN: TOKEN, STATS_FLUSH: "1s", LIVE_REFRESH: "1s" },
    REGIONS: { continent: { EU: "eu", NA: "na" } },
  },
  { withConsole: true },
);
const browser = await chromium.launch({ executablePath, args: CHROMIUM_ARGUMENTS });
try {
  await block(gateway);
  // The traffic begins shortly before a full minute, and goes on while pictures are taken.
  await sleep(60_000 - ((Date.now() + 5_000) % 60_000));
  const traffic = sendTraffic(gateway, { greedy: GREEDY, blocked: BLOCKED });
  await sleep(60_000 + 5_000 + 3_000);
  await gateway.add(earlierMinutes(await countsOf(gateway), Math.floor(Date.now() / 60_000) - 1));
  await sleep(17_000);
  await takePictures();
  await traffic.stop();
} finally {
  await browser.close();
  await gateway.stop();
}

async function block({ url }: LocalGateway): Promise<void> {
  const headers = { ...HEADERS, "Headgate-Key": BLOCKED };
  const body = JSON.stringify({ block: true, note: "scrapes the catalogue" });
  const { ok, status } = await fetch(new URL("/.headgate/admin/overrides/api", url), { method: "PUT", headers, body });
  if (!ok) throw new Error(`expected a client to be blocked, found status ${status}`);
}

async function countsOf({ url }: LocalGateway): Promise<Stats> {
  const answer = await fetch(new URL("/.headgate/admin/stats?minutes=5", url), { headers: HEADERS });
  return (await answer.json()) as Stats;
}

async function takePictures(): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  const light = { viewport: { width: 1_280, height: 940 }, colorScheme: "light" } as const;
  const phone = { viewport: { width: 390, height: 844 }, colorScheme: "dark", deviceScaleFactor: 1.5 } as const;
  const sizes = [
    await picture("overview", light, async () => {}),
    await picture("phone", phone, async () => {}),
    await picture("client", { ...light, viewport: { width: 960, height: 700 } }, async (page) => {
      await page.keyboard.press("/");
      await page.keyboard.type(GREEDY);
      await page.keyboard.press("Enter");
      await page.locator(".card .limits").first().waitFor();
    }),
    await picture("change", { ...light, viewport: { width: 960, height: 760 } }, async (page) => {
      await page.goto(`${gateway.url}.headgate/console#/policies/login`);
      await page.getByRole("button", { name: "Change limits or mode" }).click();
      await page.getByLabel("login, per 1m").fill("3");
      await page.locator(".diff").waitFor();
      await page.locator(".panel").evaluate((panel) => panel.scrollIntoView());
    }),
  ];
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  console.log(`together ${bytes} bytes`);
  if (bytes > MAX_BYTES) throw new Error(`expected at most ${MAX_BYTES} bytes of pictures`);
}

/** @returns the size of the file. */
async function picture(
  name: string,
  options: BrowserContextOptions,
  act: (page: Page) => Promise<void>,
): Promise<number> {
  const context = await browser.newContext({ ...options, timezoneId: "UTC", reducedMotion: "reduce" });
  const page = await context.newPage();
  await page.goto(`${gateway.url}.headgate/console`);
  await page.getByLabel("Admin token").fill(TOKEN);
  await page.keyboard.press("Enter");
  for (const table of ["policies", "limited"]) await page.locator(`table.${table} tbody tr`).first().waitFor();
  await act(page);
  const path = `${FOLDER}${name}.png`;
  await page.screenshot({ path });
  await context.close();
  return statSync(path).size;
}
