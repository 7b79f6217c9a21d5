// The limits page in a real browser: what it looks like, what it asks for, and that it counts along.

import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { startTwoRegions } from "../support/limits-page.ts";
import { fivePolicies, SECRET_POLICIES } from "../support/limits-policies.ts";
import { launchChromium } from "./browser.ts";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

let browser: Browser | undefined;
beforeEach(async (context) => {
  browser ??= await launchChromium(context);
});
afterAll(() => browser?.close());

/** Opens the page as a client of an address of its own; everything that goes wrong ends in `complaints`. */
async function openLimits(url: URL, options: BrowserContextOptions = {}) {
  const context = await browser!.newContext({ extraHTTPHeaders: { "CF-Connecting-IP": "192.0.2.1" }, ...options });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const complaints: string[] = [];
  const hosts = new Set<string>();
  page.on("console", (message) => void complaints.push(message.text()));
  page.on("pageerror", (error) => void complaints.push(String(error)));
  page.on("request", (request) => void hosts.add(new URL(request.url()).host));
  const answer = await page.goto(new URL("/.headgate/limits", url).href);
  return { page, complaints, hosts, answer };
}

/** Set to a folder, it gets pictures of the page to be looked at. */
const PICTURES = process.env.HEADGATE_PICTURES;

async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
}

/** Through the debugger, which the page's security policy does not bind. */
async function violations(page: Page): Promise<unknown> {
  const session = await page.context().newCDPSession(page);
  const { readFileSync } = await import("node:fs");
  await session.send("Runtime.evaluate", { expression: readFileSync(AXE, "utf8") });
  const expression =
    "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map((n) => n.html)]))";
  const { result } = await session.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  return result.value;
}

const looks: [string, BrowserContextOptions][] = [
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["phone", { viewport: { width: 360, height: 740 } }],
];

it.each(looks)("is whole, accessible and on its own: %s", async (name, options) => {
  const policies = fivePolicies();
  const { frankfurt } = await startTwoRegions([...policies, ...SECRET_POLICIES]);
  const { page, complaints, hosts, answer } = await openLimits(frankfurt.url, options);
  await page.locator("#left li").nth(2).waitFor();
  await picture(page, name);

  expect(answer?.status()).toBe(200);
  expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Rate limits");
  const columns = page.getByRole("table").first().locator("thead th");
  expect(await columns.allTextContents()).toEqual(["Limit", "frankfurt", "america", "Promise"]);
  const text = await page.content();
  for (const policy of policies) expect(text).toContain(policy.name);
  expect(text).not.toMatch(/unsaid|only-tried|12345[78]/);
  expect(await violations(page)).toEqual([]);
  const widths = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  expect(widths[0]).toBeLessThanOrEqual(widths[1]!);
  expect([...hosts]).toEqual([frankfurt.url.host]);
  expect(complaints).toEqual([]);
});
