// `npm run docs:screenshots`: pictures of the console in docs/console, over the fake gateway, whose traffic is made up.

import { mkdirSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { CHROMIUM_ARGUMENTS, findChromium, HOW_TO_GET_CHROMIUM } from "../../scripts/machine/chromium.ts";
import { startFakeGateway, TOKEN } from "./fake-gateway.ts";
import { lookUp, newPage, show, signIn } from "./page.ts";

const FOLDER = fileURLToPath(new URL("../../docs/console/", import.meta.url));
/** All together: they are part of every clone. */
const MAX_BYTES = 400_000;
const CLIENT = "198.51.100.9";

// The gateway's log.
console.log = () => {};

const executablePath = findChromium();
if (executablePath === undefined) throw new Error(HOW_TO_GET_CHROMIUM);
const gateway = await startFakeGateway();
const browser = await chromium.launch({ executablePath, args: CHROMIUM_ARGUMENTS });
try {
  // Nearly as many as the limit of a minute allows, under the limit of a second.
  for (let second = 0; second < 15; second++) {
    for (let n = 0; n < 39; n++) await gateway.send("/v1/search", CLIENT);
    // In real time: the gateway that is shown has its own clock, and counts by the second.
    await sleep(1_000);
  }
  const sizes = [
    await picture("overview", { viewport: { width: 1_280, height: 940 } }),
    await picture("phone", { viewport: { width: 390, height: 844 }, colorScheme: "dark", deviceScaleFactor: 1.5 }),
    await picture("client", { viewport: { width: 960, height: 700 } }, (page) => lookUp(page, CLIENT)),
    await picture("change", { viewport: { width: 960, height: 760 } }, async (page) => {
      await show(page, "#/policies/login");
      await page.getByRole("button", { name: "Change limits or mode" }).click();
      await page.getByLabel("login-1, per 1m").fill("3");
      await page.locator(".diff").waitFor();
      await page.locator(".panel").evaluate((panel) => panel.scrollIntoView());
    }),
  ];
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  console.error(`together ${bytes} bytes`);
  if (bytes > MAX_BYTES) throw new Error(`expected at most ${MAX_BYTES} bytes of pictures`);
} finally {
  await browser.close();
  await gateway.stop();
}

/** @returns the size of the file. */
async function picture(
  name: string,
  options: BrowserContextOptions,
  act: (page: Page) => Promise<void> = async () => {},
): Promise<number> {
  const { page } = await newPage(browser, { ...options, timezoneId: "UTC", reducedMotion: "reduce" });
  await page.goto(`${gateway.url}/.headgate/console`);
  await signIn(page, TOKEN);
  for (const table of ["policies", "limited"]) await page.locator(`table.${table} tbody tr`).first().waitFor();
  await act(page);
  mkdirSync(FOLDER, { recursive: true });
  const path = `${FOLDER}${name}.png`;
  await page.screenshot({ path });
  await page.context().close();
  return statSync(path).size;
}
