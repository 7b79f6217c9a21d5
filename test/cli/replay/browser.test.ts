// The report as a page, in a real browser: what it looks like, that it is accessible and needs nothing from elsewhere.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { renderReport } from "../../../src/cli/replay/report/page.tsx";
import { launchChromium } from "../../clients/browser.ts";
import { newPage, violations } from "../../console/page.ts";
import { folderWith } from "../run.ts";
import { TWO } from "./summary.ts";

let browser: Browser | undefined;
beforeEach(async (context) => {
  browser ??= await launchChromium(context);
});
afterAll(() => browser?.close());

it("is whole, accessible and on its own: light, dark and on a phone", async () => {
  const file = join(folderWith({ "report.html": renderReport(TWO) }), "report.html");
  const { page, complaints, urls } = await newPage(browser!, { colorScheme: "light" });
  onTestFinished(() => page.context().close());
  await page.goto(pathToFileURL(file).href);
  expect(await violations(page)).toEqual([]);
  await picture(page, "light");
  // Two charts of all requests, four of policies, four of limits, one of candidates.
  expect(await page.getByRole("img").count()).toBe(2 + 4 + 4 + 1);
  const chart = page.getByRole("img", { name: "candidate.toml: all requests" });
  const refused = chart.locator(".refused");
  expect(await refused.evaluate((path: SVGPathElement) => path.getBBox().height)).toBeGreaterThan(50);
  await page.locator("figure", { hasText: "api-1: 145 refuses" }).getByText("As a table").click();
  await page.getByRole("row", { name: "145 (less than 0.1 %)" }).waitFor();

  await page.emulateMedia({ colorScheme: "dark" });
  expect(await violations(page, "color-contrast")).toEqual([]);
  await picture(page, "dark");
  await page.setViewportSize({ width: 360, height: 740 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
  await picture(page, "phone");
  expect(complaints).toEqual([]);
  expect([...urls]).toEqual([pathToFileURL(file).href]);
});

/** A folder that gets pictures of the page for a person to look at. Without it, no pictures are taken. */
const PICTURES = process.env.HEADGATE_PICTURES;

async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `replay-${name}.png`), fullPage: true });
}
